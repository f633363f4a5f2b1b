//! The workload's own books: what was accepted, what may come of it, and what arrived. The fleet is compared with them in
//! the end, and nothing in them comes from the fleet but its answers.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use domain::{DeliveryId, EventId, RuleId};

/// An organization, by its place in the list of customers.
pub(crate) type Org = usize;

/// What must come of an accepted event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// No delivery at all.
    Nothing,
    /// A delivery for this rule.
    Alert(RuleId),
    /// Either: the rule was about to change, and nobody had been told that it had.
    Either(RuleId),
}

/// An event that the fleet has acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AcceptedEvent {
    pub(crate) org: Org,
    /// When its first request began.
    pub(crate) sent: Instant,
    pub(crate) expected: Expected,
}

/// A webhook that a receiver verified and answered with 200.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) delivery: DeliveryId,
    pub(crate) event: EventId,
    pub(crate) rule: RuleId,
    /// To whom: the path that it came to.
    pub(crate) to: Org,
    pub(crate) at: Instant,
    /// The machine that sent it.
    pub(crate) from: IpAddr,
}

/// An answer to "may this agent do this?".
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    pub(crate) asked: Instant,
    pub(crate) answered: Instant,
    pub(crate) version: u64,
    pub(crate) allowed: bool,
}

/// A version of the policies that was put in force, or tried to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activation {
    pub(crate) version: u64,
    pub(crate) began: Instant,
    /// `None`: the call failed, and it may be in force or not.
    pub(crate) returned: Option<Instant>,
}

#[derive(Debug, Default)]
pub(crate) struct Pages {
    pub(crate) accepted: HashMap<EventId, AcceptedEvent>,
    pub(crate) arrivals: Vec<Arrival>,
    /// What nobody should ever see: requests that are no webhook of the receiver's, ids that were given out twice.
    pub(crate) oddities: Vec<String>,
    /// Webhooks of a worker whose clock is wrong, which receivers refuse.
    pub(crate) refused: usize,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) activations: Vec<Activation>,
    /// When calls of the limited route were sent and answered that were admitted: somewhere between.
    pub(crate) admitted: Vec<(Instant, Instant)>,
    /// How many requests the clients had to send again.
    pub(crate) repeated: usize,
    /// Changes of rules that were made, and those of them that failed and so were not judged.
    pub(crate) rule_changes: usize,
    pub(crate) unsure_changes: usize,
}

/// Shared by everybody who writes into them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books(Arc<Mutex<Pages>>);

impl Books {
    pub(crate) fn open(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().expect("nobody panics with the books open")
    }

    pub(crate) fn accept(&self, event: EventId, accepted: AcceptedEvent) {
        let mut pages = self.open();
        if pages.accepted.insert(event, accepted).is_some() {
            pages
                .oddities
                .push(format!("{event} is the id of two events"));
        }
    }

    /// When the first alert about an event arrived at this organization that was sent after `since`.
    pub(crate) fn has_arrived_since(&self, org: Org, since: Instant) -> Option<Instant> {
        let pages = self.open();
        let newest = pages.arrivals.iter().rev().take_while(|it| it.at >= since);
        let is_new = |arrival: &&Arrival| {
            let accepted = pages.accepted.get(&arrival.event);
            arrival.to == org && accepted.is_some_and(|it| it.sent >= since)
        };
        newest.filter(is_new).map(|arrival| arrival.at).last()
    }
}
