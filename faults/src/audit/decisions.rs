//! Every decision is what its version says, and its version was in force.

use std::time::Duration;

use crate::audit::{Findings, Wrong};
use crate::books::{Decision, Pages};
use crate::fault::PastFault;
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
        if is_in_force(pages, decision) {
            continue;
        }
        let was_broken = |fault: &PastFault| {
            let until = fault.recovered.max(fault.healed) + RECONNECTED_WITHIN;
            decision.answered >= fault.began && decision.asked <= until
        };
        if faults.iter().any(was_broken) {
            stale += 1;
        } else {
            outdated.push(format!(
                "version {} was answered though nothing was broken",
                decision.version
            ));
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

/// Whether its version can have been in force between the question, less what a change may take, and the answer.
fn is_in_force(pages: &Pages, decision: &Decision) -> bool {
    let asked = decision
        .asked
        .checked_sub(IN_FORCE_WITHIN)
        .unwrap_or(decision.asked);
    // The last change that was certainly through, and everything that began after it.
    let through = pages
        .activations
        .iter()
        .rposition(|change| change.returned.is_some_and(|at| at <= asked));
    let possible = &pages.activations[through.unwrap_or_default()..];
    let began = possible
        .iter()
        .filter(|change| change.began <= decision.answered);
    let mut versions = began.map(|change| change.version);
    through.is_none() || versions.any(|version| version == decision.version)
}
