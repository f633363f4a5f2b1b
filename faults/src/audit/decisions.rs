//! Every decision is what its version says, and its version was in force.

use std::time::{Duration, Instant};

use crate::audit::{Findings, Wrong};
use crate::books::{Decision, Pages};
use crate::fault::{Area, Cut, Kind, Part, PastFault};
use crate::fleet::node::Role;
use crate::workload::decisions::allows;

/// An activated version is in force on every node within this, as long as the journal is available.
const IN_FORCE_WITHIN: Duration = Duration::from_secs(1);
/// A node that was cut off may take this much longer to hear of it.
const RECONNECTED_WITHIN: Duration = Duration::from_secs(10);

/// How many were answered by an older version while something was broken.
pub(crate) fn check(pages: &Pages, faults: &[PastFault], findings: &mut Findings) -> usize {
    let (mut contradicting, mut outdated, mut stale) = (Vec::new(), Vec::new(), 0);
    for decision in &pages.decisions {
        if decision.allowed != allows(decision.version) {
            contradicting.push(format!(
                "version {} said {}",
                decision.version, decision.allowed
            ));
        }
        let asked = decision.asked;
        if is_in_force(pages, decision, asked) {
            continue;
        }
        // A node that cannot hear of a change answers by what was in force when it was cut off, and not by anything older.
        let excuses = |fault: &&PastFault| {
            keeps_from_hearing(fault.fault.kind)
                && decision.answered >= fault.began
                && asked <= fault.recovered + RECONNECTED_WITHIN
                && is_in_force(pages, decision, fault.began.min(asked))
        };
        if faults.iter().any(|fault| excuses(&fault)) {
            stale += 1;
        } else {
            outdated.push(format!("version {} was not in force", decision.version));
        }
    }
    findings.note(
        Wrong::Untrue,
        "decisions that contradict their version",
        &contradicting,
    );
    findings.note(
        Wrong::Untrue,
        "decisions by a version that was not in force",
        &outdated,
    );
    stale
}

/// Whether an `api` node may not hear of a change, or not hear of it in time.
fn keeps_from_hearing(kind: Kind) -> bool {
    match kind {
        Kind::Kill(Part::Node(role)) | Kind::Hang(Part::Node(role)) | Kind::Clock(role, _) => {
            role == Role::Api
        }
        Kind::DiskSlow(part) => part == Part::NatsLeader,
        Kind::Partition(Cut::NodeFromPostgres, _) => false,
        kind => matches!(kind.area(), Area::Nats | Area::Nodes | Area::Everything),
    }
}

/// Whether its version can have been in force between `since`, less what a change may take, and the answer.
fn is_in_force(pages: &Pages, decision: &Decision, since: Instant) -> bool {
    let since = since.checked_sub(IN_FORCE_WITHIN).unwrap_or(since);
    // The last change that was certainly through, and everything that began after it.
    let through = pages
        .activations
        .iter()
        .rposition(|change| change.returned.is_some_and(|at| at <= since));
    let possible = &pages.activations[through.unwrap_or_default()..];
    let began = possible
        .iter()
        .filter(|change| change.began <= decision.answered);
    let mut versions = began.map(|change| change.version);
    through.is_none() || versions.any(|version| version == decision.version)
}
