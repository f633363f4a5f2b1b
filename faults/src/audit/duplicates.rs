//! Webhooks that were sent once too often: each must have an excuse, and of each excuse no more than its worker had in hand.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use domain::DeliveryId;

use crate::audit::{Findings, Wrong};
use crate::books::{Arrival, Pages};
use crate::fault::{PastFault, Reach};
use crate::fleet::CONCURRENCY;

/// What was sent so long before something broke may not have been on record yet.
const RECORDED_WITHIN: Duration = Duration::from_secs(1);

/// Of a worker: what it was sending, and as much again that waited to be recorded.
const IN_HAND_MAX: usize = 2 * CONCURRENCY;

#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    /// How many sends beyond the first each fault excuses, by its place.
    pub(crate) by_fault: HashMap<usize, usize>,
}

pub(crate) fn check(pages: &Pages, faults: &[PastFault], findings: &mut Findings) -> Duplicates {
    let mut sends: HashMap<DeliveryId, Vec<&Arrival>> = HashMap::new();
    for arrival in &pages.arrivals {
        sends.entry(arrival.delivery).or_default().push(arrival);
    }
    let (mut duplicates, mut unexplained) = (Duplicates::default(), Vec::new());
    for (delivery, sends) in &sends {
        // Each send but the last one was taken, and should have been the last.
        for pair in sends.windows(2) {
            match faults.iter().position(|fault| explains(fault, pair[0])) {
                Some(place) => *duplicates.by_fault.entry(place).or_default() += 1,
                None => unexplained.push(format!("{delivery}: {}", story(pair, faults))),
            }
        }
    }
    findings.note(
        Wrong::Doubled,
        "webhooks that were sent again without an excuse",
        &unexplained,
    );
    let too_many = duplicates.by_fault.iter().filter_map(|(place, count)| {
        let workers = if faults[*place].reach == Reach::Everybody {
            2
        } else {
            1
        };
        (*count > workers * IN_HAND_MAX).then(|| format!("{}: {count}", faults[*place].fault.kind))
    });
    findings.note(
        Wrong::Doubled,
        "faults after which more was sent again than workers had in hand",
        &too_many.collect::<Vec<_>>(),
    );
    duplicates
}

/// Whether a send may not have got on record because of this.
fn explains(fault: &PastFault, send: &Arrival) -> bool {
    let is_hit = match &fault.reach {
        Reach::Nobody => false,
        Reach::Worker(address) => *address == send.from,
        Reach::Everybody => true,
    };
    // Who is dead sends nothing; whoever lives on may take until all is well again to put it on record.
    let until = if fault.fault.kind.is_sudden_death_of_workers() {
        fault.began + RECORDED_WITHIN
    } else {
        fault.recovered
    };
    is_hit && send.at + RECORDED_WITHIN >= fault.began && send.at <= until
}

/// For whoever has to find out why.
fn story(pair: &[&Arrival], faults: &[PastFault]) -> String {
    let after = |at: Instant, since: Instant| at.saturating_duration_since(since);
    let before = faults
        .iter()
        .rev()
        .filter(|fault| fault.began <= pair[1].at)
        .take(3);
    let before: Vec<String> = before
        .map(|fault| {
            format!(
                "{} began {:?} before the second",
                fault.fault.kind,
                after(pair[1].at, fault.began)
            )
        })
        .collect();
    let apart = after(pair[1].at, pair[0].at);
    format!(
        "from {}, and {apart:?} later from {}; {before:?}",
        pair[0].from, pair[1].from
    )
}
