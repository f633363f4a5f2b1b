//! One simulated worker: the real memory of messages, tallies and verdicts, and its tasks, each of which does one thing at
//! a time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Weak;
use std::time::Duration;

use domain::{
    DeliveryId, EndpointId, RuleId, Timestamp,
    delivery::{
        Answer, State,
        endpoint::{Endpoint, Gate},
        schedule::Next,
    },
};
use journal::{
    cancellations::{Void, Voided},
    record::Job,
};

use super::super::{
    in_flight::{End, Tally},
    message_registry::{Known as InHands, MessageKey, MessageRegistry},
    verdict::{Known, Shut},
};
use crate::snapshots::Target;

/// As in `redelivery`.
pub(super) const DOUBTED_FOR: Duration = Duration::from_secs(30);

/// What every worker hears of, in this order.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Void(DeliveryId, Voided),
    Rule(RuleId, Target),
    Endpoint(Box<Endpoint>),
}

/// A task that deals with a delivery, and how far it is.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// The scheduler has it.
    Waiting,
    Sending {
        until: Timestamp,
        answer: Answer,
    },
    Recording {
        next: Next,
        is_on_record: bool,
    },
    Parking {
        shut: Option<Shut>,
        is_on_record: bool,
    },
    Ending(State),
    /// Its rule goes elsewhere.
    QueuingAnew,
}

/// Deliveries of one message that a task deals with.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) sequence: u64,
    pub(super) jobs: Vec<Job>,
    pub(super) is_probe: bool,
    pub(super) stage: Stage,
}

pub(super) struct InFlightMessage {
    message: MessageKey,
    attempts: Vec<Attempt>,
    tally: Tally<Job>,
}

/// An attempt in its round.
pub(super) type Attempt = (DeliveryId, u32, Timestamp);

pub(super) fn attempt_of(job: &Job) -> Attempt {
    (job.matched.delivery, job.attempt, job.since)
}

#[derive(Default)]
pub(super) struct Snapshots {
    voided: HashMap<DeliveryId, Voided>,
    targets: HashMap<RuleId, Target>,
    /// With the number of the change.
    endpoints: HashMap<EndpointId, (usize, Endpoint)>,
}

pub(super) struct Worker {
    registry: MessageRegistry<()>,
    pub(super) messages: HashMap<u64, InFlightMessage>,
    pub(super) tasks: Vec<Task>,
    /// Messages whose last delivery is out of its hands.
    pub(super) closing: Vec<(u64, End)>,
    pub(super) known: Snapshots,
    /// What it dealt with and could not settle: it comes back, and only this worker knows it.
    pub(super) unsettled: BTreeMap<u64, Vec<Attempt>>,
    /// How many of the changes it has heard of.
    pub(super) heard: usize,
    pub(super) stopping: bool,
    /// It does nothing before.
    pub(super) hangs_until: Timestamp,
    /// Until then the queue may say of a message that nobody had it, and be wrong.
    pub(super) doubts_until: Timestamp,
    /// Its clock, by that of the queue.
    pub(super) ahead_ms: i64,
}

impl Worker {
    /// Nothing is sent before it is known what must not be.
    pub(super) fn start(changes: &[Change], now: Timestamp, ahead_ms: i64) -> Self {
        let mut worker = Self {
            registry: MessageRegistry::new(),
            messages: HashMap::new(),
            tasks: Vec::new(),
            closing: Vec::new(),
            known: Snapshots::default(),
            unsettled: BTreeMap::new(),
            heard: 0,
            stopping: false,
            hangs_until: now,
            doubts_until: now.plus(DOUBTED_FOR),
            ahead_ms,
        };
        for change in changes {
            worker.on_change(change);
        }
        worker
    }

    pub(super) fn on_change(&mut self, change: &Change) {
        self.heard += 1;
        self.known.apply(self.heard, change);
    }

    pub(super) fn knows(&self, sequence: u64, first: &Job) -> bool {
        self.registry.know(MessageKey::of(sequence, first))
    }

    /// Takes a message with those of its deliveries that are still wanted, unless it is known.
    pub(super) fn take(
        &mut self,
        (sequence, first): (u64, &Job),
        jobs: &[Job],
    ) -> Result<(), InHands> {
        let message = MessageKey::of(sequence, first);
        let deliveries: Vec<DeliveryId> = jobs.iter().map(|job| job.matched.delivery).collect();
        self.registry.take(message, &deliveries, Weak::new())?;
        let in_flight = InFlightMessage {
            message,
            attempts: jobs.iter().map(attempt_of).collect(),
            tally: Tally::of(jobs.len()),
        };
        self.messages.insert(sequence, in_flight);
        Ok(())
    }

    pub(super) fn touch(&mut self, sequence: u64) {
        if let Some(in_flight) = self.messages.get_mut(&sequence) {
            in_flight.tally.is_touched = true;
        }
    }

    /// A task ends, and drops the guards of its deliveries as `parcel::Item` does.
    pub(super) fn end_task(&mut self, place: usize, is_done: bool) {
        let task = self.tasks.swap_remove(place);
        let Some(in_flight) = self.messages.get_mut(&task.sequence) else {
            return;
        };
        for job in task.jobs {
            if is_done {
                self.registry
                    .let_go(in_flight.message, job.matched.delivery);
            }
            let undone = (!is_done).then_some(job);
            if let Some(end) = in_flight.tally.end_one(undone) {
                self.closing.push((task.sequence, end));
            }
        }
    }

    /// Everything of a message is dealt with.
    pub(super) fn remember(&mut self, sequence: u64) {
        if let Some(in_flight) = self.messages.get(&sequence) {
            self.registry.remember(in_flight.message);
        }
    }

    /// A message is out of its hands.
    pub(super) fn put_down(&mut self, sequence: u64) {
        if let Some(in_flight) = self.messages.remove(&sequence) {
            let deliveries: Vec<DeliveryId> =
                in_flight.attempts.iter().map(|attempt| attempt.0).collect();
            self.registry.put_down(in_flight.message, &deliveries);
        }
    }

    /// It is told to stop: what waits is not sent any more.
    pub(super) fn stop(&mut self) {
        self.stopping = true;
        let waits = |task: &Task| matches!(task.stage, Stage::Waiting);
        for task in self.tasks.iter().filter(|task| waits(task)) {
            if let Some(in_flight) = self.messages.get_mut(&task.sequence) {
                in_flight.tally.give_back_if_whole();
            }
        }
        while let Some(place) = self.tasks.iter().position(waits) {
            self.end_task(place, false);
        }
    }

    /// Everything in its hands, and what only it knows to be dealt with.
    pub(super) fn attempts(&self) -> impl Iterator<Item = Attempt> {
        let in_hand = self.messages.values().map(|in_flight| &in_flight.attempts);
        in_hand.chain(self.unsettled.values()).flatten().copied()
    }

    /// A message was not settled, and comes back.
    pub(super) fn give_up(&mut self, sequence: u64) {
        if let Some(in_flight) = self.messages.get(&sequence) {
            self.unsettled.insert(sequence, in_flight.attempts.clone());
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.tasks.is_empty() && self.closing.is_empty()
    }
}

impl Snapshots {
    fn apply(&mut self, number: usize, change: &Change) {
        match change {
            Change::Void(delivery, voided) => {
                self.voided.insert(*delivery, *voided);
            }
            Change::Rule(rule, target) => {
                self.targets.insert(*rule, target.clone());
            }
            Change::Endpoint(endpoint) => {
                self.set_endpoint(number, endpoint);
            }
        }
    }

    /// What is older than what is known already is left out.
    pub(super) fn set_endpoint(&mut self, number: usize, endpoint: &Endpoint) {
        let known = self.endpoints.get(&endpoint.id);
        if known.is_none_or(|(known, _)| *known < number) {
            self.endpoints
                .insert(endpoint.id, (number, endpoint.clone()));
        }
    }

    pub(super) fn void(&self, job: &Job) -> Option<Void> {
        let voided = self.voided.get(&job.matched.delivery)?;
        (job.since <= voided.until).then_some(voided.why)
    }

    pub(super) fn target(&self, rule: RuleId) -> Option<Target> {
        self.targets.get(&rule).cloned()
    }

    pub(super) fn gate(&self, endpoint: EndpointId, now: Timestamp) -> Gate {
        let endpoint = self.endpoints.get(&endpoint);
        endpoint.map_or(Gate::Open, |(_, endpoint)| endpoint.gate(now))
    }

    pub(super) fn of(&self, job: &Job, now: Timestamp) -> Known {
        Known {
            void: self.void(job),
            target: self.target(job.matched.rule),
            gate: self.gate(EndpointId::of(job.matched.org, &job.matched.url), now),
        }
    }
}
