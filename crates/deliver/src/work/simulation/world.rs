//! Everything around the workers: time, receivers, people, faults, and what must hold.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use domain::{
    DeliveryId, EndpointId, EventId, OrgId, RuleId, Timestamp,
    delivery::{Cause, State, endpoint::Endpoint},
};
use journal::{
    cancellations::Voided,
    queue::{bundles, name},
    record::{Job, Matched},
};
use testkit::{Dice, environment};
use uuid::Uuid;

use super::{
    faults::Adrift,
    queue::{Place, Queue},
    sends::Sends,
    state::DeliveryStates,
    worker::{Attempt, Change, Worker},
};
use crate::snapshots::Target;

/// In one story of four there is one worker.
const WORKERS: usize = 3;
const ONE_ALONE_IN: u64 = 4;
pub(super) const RULES: usize = 4;
pub(super) const URLS: u64 = 3;
const DELIVERIES_MOST: u128 = 60;
/// How often workers say which messages they have.
pub(super) const BEAT_EVERY: Duration = Duration::from_secs(4);
/// A queue that is queued again is recognized for two minutes; who does that does it within one.
const QUEUED_AGAIN_WITHIN: Duration = Duration::from_mins(1);
pub(super) const TICK: Duration = Duration::from_millis(1);
/// Lines that are kept of a story, unless somebody asked for its seed.
const STORY_KEPT: usize = 60;
const REST_STEPS_MAX: u32 = 60_000;

/// How a call of the journal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Done,
    /// Nothing happened.
    Failed,
    /// It happened, and nobody heard of it.
    Lost,
}

pub(super) struct World {
    pub(super) dice: Dice,
    pub(super) now: Timestamp,
    pub(super) queue: Queue,
    pub(super) standings: DeliveryStates,
    pub(super) changes: Vec<Change>,
    pub(super) workers: Vec<Worker>,
    pub(super) steps: u32,
    pub(super) endpoints: BTreeMap<EndpointId, Endpoint>,
    pub(super) rules: Vec<Target>,
    pub(super) voided: HashMap<DeliveryId, Voided>,
    pub(super) first: BTreeMap<DeliveryId, Job>,
    pub(super) queued: Vec<(Timestamp, Vec<Job>)>,
    pub(super) canceled: HashSet<DeliveryId>,
    pub(super) acknowledged: HashSet<DeliveryId>,
    /// Attempts that are on record as delivered.
    pub(super) delivered: HashSet<Attempt>,
    pub(super) sends: BTreeMap<Attempt, Sends>,
    /// How often somebody died with a round of a delivery in hand. It may be in the queue twice from then on, so each
    /// of its attempts may be made once more.
    pub(super) deaths: HashMap<(DeliveryId, Timestamp), u32>,
    pub(super) away_until: Timestamp,
    /// Until then somebody who lives cannot say what they have in hand.
    pub(super) mute_until: Timestamp,
    /// What was on its way to the journal when its sender died, and when that was.
    pub(super) adrift: Vec<(Timestamp, Adrift)>,
    /// How far the clocks of workers are from that of the queue, at most.
    skew_ms: u64,
    next_beat: Timestamp,
    pub(super) is_calm: bool,
    story: VecDeque<String>,
    story_kept: usize,
    seed: u64,
}

fn org() -> OrgId {
    OrgId::from_uuid(Uuid::from_u128(1))
}

pub(super) fn rule(number: usize) -> RuleId {
    RuleId::from_uuid(Uuid::from_u128(100 + number as u128))
}

pub(super) fn url(number: u64) -> Arc<str> {
    Arc::from(format!("https://{number}.example/hook"))
}

fn ahead(dice: &mut Dice, skew_ms: u64) -> i64 {
    let (one, other) = (dice.below(skew_ms + 1), dice.below(skew_ms + 1));
    one.cast_signed() - other.cast_signed()
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let now = Timestamp::from_unix_millis(1_794_735_000_000);
        let rules: Vec<Target> = (0..RULES as u64)
            .map(|number| Target::Url(url(number % URLS)))
            .collect();
        let told = rules.iter().enumerate();
        let changes: Vec<Change> = told
            .map(|(number, target)| Change::Rule(rule(number), target.clone()))
            .collect();
        let mut dice = Dice(seed);
        let skew_ms = dice.of(&[0, 2_000, 60_000]);
        let workers = if seed.is_multiple_of(ONE_ALONE_IN) {
            1
        } else {
            WORKERS
        };
        let endpoints = (0..URLS).map(|number| Endpoint::new(org(), url(number).to_string()));
        Self {
            now,
            queue: Queue::default(),
            standings: DeliveryStates::default(),
            workers: (0..workers)
                .map(|_| Worker::start(&changes, now, ahead(&mut dice, skew_ms)))
                .collect(),
            dice,
            changes,
            steps: 0,
            endpoints: endpoints.map(|endpoint| (endpoint.id, endpoint)).collect(),
            rules,
            voided: HashMap::new(),
            first: BTreeMap::new(),
            queued: Vec::new(),
            canceled: HashSet::new(),
            acknowledged: HashSet::new(),
            delivered: HashSet::new(),
            sends: BTreeMap::new(),
            deaths: HashMap::new(),
            away_until: now,
            mute_until: now,
            adrift: Vec::new(),
            skew_ms,
            next_beat: now.plus(BEAT_EVERY),
            is_calm: false,
            story: VecDeque::new(),
            story_kept: environment::seed().map_or(STORY_KEPT, |_| usize::MAX),
            seed,
        }
    }

    pub(super) fn step(&mut self) {
        self.steps += 1;
        match self.dice.below(100u64) {
            0..4 => self.matched(),
            4 => self.queued_again(),
            5..20 => self.time_passes(),
            20..23 if !self.is_calm => self.somebody_acts(),
            23 if !self.is_calm => self.something_breaks(),
            24 => self.something_arrives(),
            _ => {
                let worker = self.any_worker();
                self.work(worker);
            }
        }
        if self.steps.is_multiple_of(32) {
            self.nothing_vanished();
        }
    }

    /// Nothing breaks any more, receivers are well and people ask for what was held or failed: everything arrives.
    pub(super) fn come_to_rest(&mut self) {
        self.tell("calm");
        self.is_calm = true;
        self.away_until = self.now;
        for worker in &mut self.workers {
            worker.hangs_until = self.now;
        }
        for id in self.endpoints.keys().copied().collect::<Vec<_>>() {
            self.change_endpoint(id, |endpoint| {
                endpoint.resume();
            });
        }
        let mut steps = 0;
        loop {
            while !(self.queue.is_empty() && self.workers.iter().all(Worker::is_idle)) {
                self.step();
                steps += 1;
                self.must(steps < REST_STEPS_MAX, "it comes to rest");
            }
            // What was under way when calm began may have been held or have failed by what was known then.
            let wanted = self.in_states(&[State::Held, State::Failed]);
            let wanted: Vec<DeliveryId> = wanted
                .into_iter()
                .filter(|one| self.url_of(*one).is_some())
                .collect();
            if wanted.is_empty() {
                break;
            }
            for delivery in wanted {
                self.resend(delivery);
            }
        }
        for (delivery, standing) in &self.standings.0 {
            let is_gone = self.url_of(*delivery).is_none();
            let is_right = match standing.state {
                State::Delivered => self.acknowledged.contains(delivery),
                State::Canceled => is_gone || self.canceled.contains(delivery),
                State::Held | State::Failed => is_gone,
                _ => false,
            };
            self.must(is_right, &format!("{delivery} ends as {standing:?}"));
        }
    }

    pub(super) fn any_worker(&mut self) -> usize {
        usize::try_from(self.dice.below(self.workers.len() as u64)).expect("few")
    }

    /// The time, as a worker has it.
    pub(super) fn clock(&self, number: usize) -> Timestamp {
        let ahead_ms = self.workers[number].ahead_ms;
        Timestamp::from_unix_millis(self.now.unix_millis() + ahead_ms)
    }

    /// Another worker, which knows all that changed and has a clock of its own.
    pub(super) fn new_worker(&mut self) -> Worker {
        let ahead_ms = ahead(&mut self.dice, self.skew_ms);
        Worker::start(&self.changes, self.now, ahead_ms)
    }

    pub(super) fn is_alone(&self) -> bool {
        self.workers.len() == 1
    }

    pub(super) fn call(&mut self) -> Call {
        if self.now < self.away_until {
            return Call::Failed;
        }
        match self.dice.below(30u64) {
            0 if !self.is_calm => Call::Failed,
            1 if !self.is_calm => Call::Lost,
            _ => Call::Done,
        }
    }

    pub(super) fn is_away(&self) -> bool {
        self.now < self.away_until
    }

    /// Some events met rules.
    fn matched(&mut self) {
        let made = self.first.len() as u128;
        if made >= DELIVERIES_MOST || self.is_calm {
            return;
        }
        let count = u128::from(1 + self.dice.below(4u64));
        let jobs: Vec<Job> = (made..made + count)
            .map(|number_of| self.match_of(number_of))
            .collect();
        for job in &jobs {
            self.standings.begin(job.matched.delivery, job.since);
            self.first.insert(job.matched.delivery, job.clone());
        }
        self.tell(format!("matched {count} from {made}"));
        self.queue_due(&jobs);
        self.queued.push((self.now, jobs));
    }

    /// A match of any rule that is not gone.
    fn match_of(&mut self, number_of: u128) -> Job {
        let there = (0..RULES).filter(|number| self.rules[*number] != Target::Gone);
        let there: Vec<usize> = there.collect();
        let number = self.dice.of(&there);
        let url = self.url_at(number).expect("it is not gone");
        let matched = Matched {
            org: org(),
            delivery: DeliveryId::from_uuid(Uuid::from_u128(1_000 + number_of)),
            event: EventId::from_uuid(Uuid::from_u128(number_of)),
            rule: rule(number),
            rule_name: String::new(),
            event_type: String::new(),
            url,
            matched_at: self.now,
            cause: Cause::Match,
        };
        Job::first(matched, String::new())
    }

    pub(super) fn queue_due(&mut self, jobs: &[Job]) {
        for bundle in bundles(jobs) {
            let name = name(&bundle);
            let jobs = bundle.into_iter().cloned().collect();
            self.queue.publish(Place::Due, jobs, name, self.now);
        }
    }

    /// Whoever follows a matcher or a request that died queues again what may not be queued.
    fn queued_again(&mut self) {
        let now = self.now;
        self.queued
            .retain(|(at, _)| now.since(*at) < QUEUED_AGAIN_WITHIN);
        if let Some((_, jobs)) = self.queued.last().cloned() {
            self.tell("queued again");
            self.queue_due(&jobs);
        }
    }

    fn time_passes(&mut self) {
        let mut until = self
            .now
            .plus(Duration::from_millis(1 + self.dice.below(600u64)));
        if self.dice.one_in(3)
            && let Some(next_at) = self.queue.next_at()
        {
            until = until.max(next_at);
        }
        // Where nothing is in hand, nobody minds.
        let is_idle = self.workers.iter().all(Worker::is_idle);
        self.now = if is_idle {
            until
        } else {
            until.min(self.next_beat)
        };
        while self.next_beat <= self.now {
            self.next_beat = self.next_beat.plus(BEAT_EVERY);
            self.beat();
        }
        self.queue.tick(self.now);
    }

    fn beat(&mut self) {
        if self.is_away() {
            return;
        }
        let is_awake = |worker: &&Worker| worker.hangs_until <= self.now;
        for worker in self.workers.iter().filter(is_awake) {
            for sequence in worker.messages.keys() {
                self.queue.still_at_it(*sequence, self.now);
            }
        }
    }

    /// Changes the endpoint that all share; the number of the change.
    pub(super) fn change_endpoint(
        &mut self,
        id: EndpointId,
        change: impl FnOnce(&mut Endpoint),
    ) -> Option<(usize, Endpoint)> {
        let endpoint = self.endpoints.get_mut(&id)?;
        change(endpoint);
        let endpoint = endpoint.clone();
        self.changes
            .push(Change::Endpoint(Box::new(endpoint.clone())));
        Some((self.changes.len(), endpoint))
    }

    pub(super) fn endpoint(&self, id: EndpointId) -> Option<&Endpoint> {
        self.endpoints.get(&id)
    }

    pub(super) fn in_states(&self, states: &[State]) -> Vec<DeliveryId> {
        let standings = self.standings.0.iter();
        standings
            .filter(|(_, standing)| states.contains(&standing.state))
            .map(|(delivery, _)| *delivery)
            .collect()
    }

    /// Where the rule of a delivery goes; `None`: it is gone.
    pub(super) fn url_of(&self, delivery: DeliveryId) -> Option<String> {
        let wanted = self.first.get(&delivery)?.matched.rule;
        let number = (0..RULES).find(|number| rule(*number) == wanted)?;
        self.url_at(number)
    }

    fn url_at(&self, number: usize) -> Option<String> {
        match &self.rules[number] {
            Target::Url(url) => Some(url.to_string()),
            Target::Gone => None,
        }
    }

    /// What is neither delivered nor ended is in the queue, in the round that it is in.
    fn nothing_vanished(&self) {
        let mut queued: HashMap<DeliveryId, Timestamp> = HashMap::new();
        for job in self.queue.jobs() {
            let since = queued.entry(job.matched.delivery).or_insert(job.since);
            *since = job.since.max(*since);
        }
        for (delivery, standing) in &self.standings.0 {
            let is_under_way = matches!(standing.state, State::Pending | State::Scheduled);
            if is_under_way {
                let is_queued = queued
                    .get(delivery)
                    .is_some_and(|since| *since >= standing.round_at);
                self.must(
                    is_queued,
                    &format!("{delivery} is in the queue: {standing:?}"),
                );
            }
        }
    }

    pub(super) fn must(&self, holds: bool, what: &str) {
        assert!(
            holds,
            "seed {}, step {}: not so that {what}\n{}",
            self.seed,
            self.steps,
            self.story()
        );
    }

    pub(super) fn tell(&mut self, what: impl Display) {
        if self.story.len() == self.story_kept {
            self.story.pop_front();
        }
        self.story
            .push_back(format!("{} {}: {what}", self.steps, self.now));
    }

    /// What happened last.
    pub(super) fn story(&self) -> String {
        let lines: Vec<&str> = self.story.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}
