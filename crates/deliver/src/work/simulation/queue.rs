//! The queue as the server of the journal keeps it: what it promises of messages, names and times.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::{mem::replace, time::Duration};

use domain::{DeliveryId, EndpointId, Timestamp};
use journal::record::Job;
use testkit::Dice;

/// A message that nobody spoke for so long is handed out again.
const SETTLE: Duration = Duration::from_secs(16);
/// A name is remembered for so long.
const NAMES_KEPT: Duration = Duration::from_mins(2);

/// Where a message waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Due,
    Lane(EndpointId),
    /// Until its time; a round of a delivery waits once.
    Later(DeliveryId, Timestamp),
}

#[derive(Debug)]
struct Message {
    name: String,
    place: Place,
    jobs: Vec<Job>,
    /// Nobody gets it before.
    not_before: Timestamp,
    was_handed_out: bool,
}

/// A message that is handed out.
pub(super) struct HandedOut {
    pub(super) sequence: u64,
    pub(super) jobs: Vec<Job>,
    /// Somebody had it before.
    pub(super) is_again: bool,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    messages: BTreeMap<u64, Message>,
    last: u64,
    names: HashMap<String, Timestamp>,
}

impl Queue {
    /// A name that it knows is taken for a repetition.
    pub(super) fn publish(&mut self, place: Place, jobs: Vec<Job>, name: String, now: Timestamp) {
        if self.names.contains_key(&name) {
            return;
        }
        self.names.insert(name.clone(), now);
        if let Place::Later(delivery, _) = place {
            let since = jobs[0].since;
            let waits = |message: &Message| {
                matches!(message.place, Place::Later(other, _) if other == delivery)
                    && message.jobs[0].since == since
            };
            self.messages.retain(|_, message| !waits(message));
        }
        self.add(name, place, jobs, now);
    }

    fn add(&mut self, name: String, place: Place, jobs: Vec<Job>, now: Timestamp) {
        self.last += 1;
        let message = Message {
            name,
            place,
            jobs,
            not_before: now,
            was_handed_out: false,
        };
        self.messages.insert(self.last, message);
    }

    pub(super) fn take(&mut self, place: Place, now: Timestamp) -> Option<HandedOut> {
        let mut here = self.messages.iter_mut();
        let (sequence, message) =
            here.find(|(_, message)| message.place == place && message.not_before <= now)?;
        message.not_before = now.plus(SETTLE);
        Some(HandedOut {
            sequence: *sequence,
            jobs: message.jobs.clone(),
            is_again: replace(&mut message.was_handed_out, true),
        })
    }

    pub(super) fn still_at_it(&mut self, sequence: u64, now: Timestamp) {
        self.hand_out_again(sequence, now.plus(SETTLE));
    }

    pub(super) fn hand_out_again(&mut self, sequence: u64, not_before: Timestamp) {
        if let Some(message) = self.messages.get_mut(&sequence) {
            message.not_before = not_before;
        }
    }

    pub(super) fn settle(&mut self, sequence: u64) {
        self.messages.remove(&sequence);
    }

    /// What a message asks for, if it is there.
    pub(super) fn message(&self, sequence: u64) -> &[Job] {
        let message = self.messages.get(&sequence);
        message.map_or(&[], |message| &message.jobs)
    }

    /// What waited for its time is due.
    pub(super) fn tick(&mut self, now: Timestamp) {
        let is_due = |place| matches!(place, Place::Later(_, at) if at <= now);
        let due = self.messages.iter();
        let due: Vec<u64> = due
            .filter(|(_, message)| is_due(message.place))
            .map(|(sequence, _)| *sequence)
            .collect();
        for sequence in due {
            if let Some(message) = self.messages.remove(&sequence) {
                self.add(message.name, Place::Due, message.jobs, now);
            }
        }
        self.names.retain(|_, at| now.since(*at) < NAMES_KEPT);
    }

    /// The server is killed and comes back: it has forgotten whom it gave what from lanes, and some of the rest, and the
    /// names of what was settled.
    pub(super) fn forget(&mut self, now: Timestamp, dice: &mut Dice) {
        for message in self.messages.values_mut() {
            if matches!(message.place, Place::Lane(_)) || dice.one_in(2) {
                message.not_before = message.not_before.min(now);
                message.was_handed_out = false;
            }
        }
        let standing: HashSet<&String> = self.messages.values().map(|one| &one.name).collect();
        self.names.retain(|name, _| standing.contains(name));
    }

    /// The lanes in which something stands.
    pub(super) fn lanes(&self) -> Vec<EndpointId> {
        let lanes = self
            .messages
            .values()
            .filter_map(|message| match message.place {
                Place::Lane(endpoint) => Some(endpoint),
                _ => None,
            });
        let mut lanes: Vec<EndpointId> = lanes.collect();
        lanes.sort_unstable();
        lanes.dedup();
        lanes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The next time at which something becomes due or is handed out again.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let at = |message: &Message| match message.place {
            Place::Later(_, at) => at,
            _ => message.not_before,
        };
        self.messages.values().map(at).min()
    }

    /// Everything that is asked for.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.messages.values().flat_map(|message| &message.jobs)
    }
}
