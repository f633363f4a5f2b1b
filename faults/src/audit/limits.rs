//! A limit holds over all nodes together while Redis is there, and to the documented multiple while it is not.

use std::time::Instant;

use crate::audit::{Findings, Wrong};
use crate::books::Pages;
use crate::fault::{Kind, Part, PastFault};
use crate::fleet::STATS_LIMIT;
use crate::fleet::node::Role;

/// How many nodes count by themselves while Redis is away.
const NODES: usize = 2;

/// The most that was certainly admitted in one window: sent after it began, and answered before it ended.
pub(crate) fn check(pages: &Pages, faults: &[PastFault], findings: &mut Findings) -> usize {
    let (limit, window) = STATS_LIMIT;
    let (mut most, mut too_many) = (0, Vec::new());
    for (first, (began, _)) in pages.admitted.iter().enumerate() {
        let end = *began + window;
        let within = pages.admitted[first..].iter();
        let admitted = within.take_while(|(_, answered)| *answered < end).count();
        most = most.max(admitted);
        let allowed = limit * copies(*began, end, faults);
        if admitted > allowed {
            too_many.push(format!("{admitted} of {allowed}"));
        }
    }
    findings.note(Wrong::Untrue, "windows with more than the limit", &too_many);
    most
}

/// How often the whole limit may have been given out within a window: once; by each node while one of them may not reach Redis;
/// and again by each node that was started anew, or by an emptied Redis, which have forgotten what they admitted.
fn copies(from: Instant, to: Instant, faults: &[PastFault]) -> usize {
    let from = from.checked_sub(STATS_LIMIT.1).unwrap_or(from);
    let near = faults
        .iter()
        .filter(|fault| fault.began <= to && fault.recovered >= from);
    near.fold(1, |copies, fault| match fault.fault.kind {
        Kind::Kill(Part::Node(Role::Api)) | Kind::Hang(Part::Node(Role::Api)) => {
            copies.max(NODES) + 1
        }
        Kind::PowerCutOfAll | Kind::RollingRestart | Kind::PowerCut(Part::Node(_)) => {
            copies.max(NODES) + NODES
        }
        Kind::RedisFlush => copies + 1,
        Kind::Kill(Part::Redis)
        | Kind::Hang(Part::Redis)
        | Kind::PacketLoss(Part::Node(_))
        | Kind::Clock(Role::Api, _) => copies.max(NODES),
        _ => copies,
    })
}
