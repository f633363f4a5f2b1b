//! A limit holds over all nodes together while Redis is there, and to the documented multiple while it is not.

use std::time::Instant;

use crate::audit::{Findings, Wrong};
use crate::books::Pages;
use crate::fault::{Kind, Part, PastFault};
use crate::fleet::STATS_LIMIT;
use crate::fleet::node::Role;

/// How many nodes count by themselves while Redis is away.
const NODES: usize = 2;

/// The most that was admitted in one window.
pub(crate) fn check(pages: &Pages, faults: &[PastFault], findings: &mut Findings) -> usize {
    let (limit, window) = STATS_LIMIT;
    let (mut most, mut too_many, mut first) = (0, Vec::new(), 0);
    for (last, at) in pages.admitted.iter().enumerate() {
        // When a call was admitted is known only to its answer's time, which another fault may delay: a window is
        // taken to be shorter by what a call may take.
        while at.saturating_duration_since(pages.admitted[first]) + SLACK >= window {
            first += 1;
        }
        let admitted = last + 1 - first;
        most = most.max(admitted);
        let allowed = limit * copies(pages.admitted[first], *at, faults);
        if admitted > allowed {
            too_many.push(format!("{admitted} of {allowed}"));
        }
    }
    findings.note(Wrong::Untrue, "windows with more than the limit", &too_many);
    most
}

const SLACK: std::time::Duration = std::time::Duration::from_secs(1);

/// How often the whole limit may have been given out within a window: once, or by each node, and again by each node that
/// was started anew and had forgotten what it admitted.
fn copies(from: Instant, to: Instant, faults: &[PastFault]) -> usize {
    let from = from.checked_sub(STATS_LIMIT.1).unwrap_or(from);
    let near = faults
        .iter()
        .filter(|fault| fault.began <= to && fault.healed.max(fault.recovered) >= from);
    near.fold(1, |copies, fault| match fault.fault.kind {
        Kind::Kill(Part::Node(Role::Api)) | Kind::Hang(_) => copies.max(NODES) + 1,
        Kind::PowerCutOfAll | Kind::RollingRestart | Kind::PowerCut(Part::Node(_)) => {
            copies.max(NODES) + NODES
        }
        Kind::RedisFlush => copies + 1,
        // A clock that is an hour off, or a slow machine, can make any node miss Redis.
        _ => copies.max(NODES),
    })
}
