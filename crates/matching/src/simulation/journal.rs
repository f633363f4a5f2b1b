//! The journal, as far as a matcher sees it: what NATS would hold, and what it does with what arrives.

use std::{
    collections::{HashMap, HashSet},
    mem,
    rc::Rc,
    time::Duration,
};

use bytes::Bytes;
use domain::{DeliveryId, Timestamp, delivery::State};
use journal::{
    cancellations::Voided,
    dedup::AlertMark,
    record::{self, Job, OutcomeRecord, StateChanged},
};
use testkit::Dice;

use super::{
    calls::Calls,
    checks::{self, Checks, JudgedBy, Look},
    stories::{self, Event, ORG, Rules},
    trace::Trace,
};

/// For how long a queue, and a log, recognize a message by its name.
const RECOGNIZED_FOR: Duration = Duration::from_secs(2 * 60);

pub(super) struct Journal {
    pub(super) now: Timestamp,
    pub(super) dice: Dice,
    pub(super) trace: Trace,
    pub(super) calls: Calls,
    pub(super) checks: Checks,
    /// Messages of events; the first has sequence 1.
    pub(super) events: Vec<Rc<EventMessage>>,
    /// The outcome log; the first has sequence 1.
    pub(super) outcomes: Vec<OutcomeMessage>,
    /// Where in it the judgments are.
    pub(super) chain: Vec<u64>,
    pub(super) queue: Vec<Queued>,
    /// How often a worker moved what was in the queue.
    moves: u32,
    /// The names that the queue knows, and since when.
    names: HashMap<String, Timestamp>,
    pub(super) marks: HashMap<DeliveryId, AlertMark>,
    pub(super) voided: HashMap<DeliveryId, Voided>,
    /// Every version of the rules; the last is in force.
    pub(super) rules: Vec<Rules>,
    /// How often the server was started anew.
    pub(super) restarts: u64,
    /// Whether the log recognizes a judgment that is appended again. If not, its writer does.
    pub(super) recognizes_judgments: bool,
    /// Who has the turn.
    pub(super) turn: usize,
    /// Who gets no answers for a while.
    pub(super) stalled: Option<usize>,
    /// Whose turn is over though they are at work.
    pub(super) interrupted: HashSet<usize>,
    /// Nothing goes wrong any more.
    pub(super) is_calm: bool,
    /// Who has the turn has nothing to do.
    pub(super) is_idle: bool,
}

pub(super) struct EventMessage {
    pub(super) payload: Bytes,
    pub(super) events: Vec<Event>,
    pub(super) accepted_at: Timestamp,
    /// Which version of the rules was in force then.
    pub(super) rules: usize,
}

pub(super) struct OutcomeMessage {
    pub(super) payload: Bytes,
    /// Of a judgment: its writer's.
    pub(super) nonce: Option<String>,
}

/// A message of the queue.
pub(super) struct Queued {
    name: String,
    jobs: Vec<Job>,
    /// How many of them a worker has sent, or left out.
    done: usize,
}

impl Journal {
    pub(super) fn new(mut dice: Dice) -> Self {
        Self {
            now: stories::BEGIN,
            trace: Trace::default(),
            calls: Calls::default(),
            checks: Checks::default(),
            events: Vec::new(),
            outcomes: Vec::new(),
            chain: Vec::new(),
            queue: Vec::new(),
            moves: 0,
            names: HashMap::new(),
            marks: HashMap::new(),
            voided: HashMap::new(),
            rules: vec![stories::first_rules(&mut dice)],
            restarts: 0,
            recognizes_judgments: dice.one_in(2),
            turn: 0,
            stalled: None,
            interrupted: HashSet::new(),
            is_calm: false,
            is_idle: false,
            dice,
        }
    }

    pub(super) fn rules_version(&self) -> usize {
        self.rules.len() - 1
    }

    pub(super) fn end_of_chain(&self) -> u64 {
        self.chain.last().copied().unwrap_or(0)
    }

    pub(super) fn outcome(&self, sequence: u64) -> &OutcomeMessage {
        &self.outcomes[place(sequence)]
    }

    pub(super) fn event_message(&self, sequence: u64) -> &Rc<EventMessage> {
        &self.events[place(sequence)]
    }

    /// Appends a judgment if `last` is the end of the chain; where it is then.
    pub(super) fn append(
        &mut self,
        by: &JudgedBy,
        last: u64,
        nonce: &str,
        payload: &[u8],
    ) -> Option<u64> {
        if self.recognizes_judgments {
            let is_it = |sequence: &&u64| self.outcome(**sequence).nonce.as_deref() == Some(nonce);
            if let Some(sequence) = self.chain.iter().rev().take(8).find(is_it) {
                return Some(*sequence);
            }
        }
        if self.end_of_chain() != last {
            return None;
        }
        let sequence = self.append_outcome(payload.to_vec(), Some(nonce.to_owned()));
        self.chain.push(sequence);
        checks::judgment(self, by, sequence);
        Some(sequence)
    }

    fn append_outcome(&mut self, payload: Vec<u8>, nonce: Option<String>) -> u64 {
        let payload = payload.into();
        self.outcomes.push(OutcomeMessage { payload, nonce });
        self.outcomes.len() as u64
    }

    /// Queues a message, unless there is one of the name.
    pub(super) fn queue(&mut self, look: Look, name: &str, jobs: &[Job]) {
        let known = self.names.get(name);
        let is_known = known.is_some_and(|since| self.now.since(*since) < RECOGNIZED_FOR);
        checks::queued(self, look, name, jobs, is_known);
        if !is_known {
            self.names.insert(name.to_owned(), self.now);
            self.queue.push(Queued {
                name: name.to_owned(),
                jobs: jobs.to_vec(),
                done: 0,
            });
        }
    }

    /// Makes a mark unless there is one; the one that is there.
    pub(super) fn mark(&mut self, delivery: DeliveryId, mark: &AlertMark) -> AlertMark {
        let marked = self.marks.entry(delivery).or_insert_with(|| mark.clone());
        marked.clone()
    }

    /// When another round of a delivery can begin.
    pub(super) fn next_round(&self, delivery: DeliveryId, now: Timestamp) -> Timestamp {
        Voided::next_round(self.voided.get(&delivery).copied(), now)
    }

    /// Makes void what is on its way of a delivery from before a round.
    pub(super) fn supersede(&mut self, delivery: DeliveryId, round: Timestamp) {
        let voided = Voided::before(self.voided.get(&delivery).copied(), round);
        self.voided.insert(delivery, voided);
    }

    /// A worker sends the next delivery of a message and puts it on record, or settles the message.
    pub(super) fn work(&mut self, place: usize) {
        let queued = &mut self.queue[place];
        let Some(job) = queued.jobs.get(queued.done).cloned() else {
            self.queue.remove(place);
            return;
        };
        queued.done += 1;
        let delivery = job.matched.delivery;
        let voided = self.voided.get(&delivery);
        if voided.is_some_and(|voided| job.since <= voided.until) {
            return;
        }
        let sequence = self.stands(&job, State::Delivered);
        self.checks.sent(delivery, sequence);
    }

    /// A worker has no room for what is left of a message: it puts that on record, and moves it.
    pub(super) fn park(&mut self, place: usize) {
        let mut parked = self.queue.remove(place);
        parked.jobs.drain(..mem::take(&mut parked.done));
        for job in &parked.jobs {
            self.stands(job, State::Pending);
        }
        self.moves += 1;
        parked.name = format!("moved-{}", self.moves);
        self.queue.push(parked);
    }

    /// Where a delivery stands, on record.
    fn stands(&mut self, job: &Job, state: State) -> u64 {
        let stood = OutcomeRecord::StateChanged(StateChanged {
            org: ORG,
            delivery: job.matched.delivery,
            state,
            reason: None,
            next_at: None,
            round_at: job.since,
        });
        self.append_outcome(record::message(&stood), None)
    }

    /// The server is started anew: of what was settled it has forgotten the names.
    pub(super) fn restart(&mut self) {
        self.restarts += 1;
        let standing: HashSet<&String> = self.queue.iter().map(|queued| &queued.name).collect();
        self.names.retain(|name, _| standing.contains(name));
    }
}

/// Where the message of a sequence stands in memory.
fn place(sequence: u64) -> usize {
    usize::try_from(sequence - 1).expect("a place in state")
}
