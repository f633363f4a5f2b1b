//! What a worker does next, one thing at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{
    EndpointId,
    delivery::{
        Answer, Outcome, State,
        endpoint::Gate,
        schedule::{self, Next},
    },
};
use journal::{
    cancellations::Void,
    queue::{attempt_id, bundles, moved_from, name},
    record::Job,
};

use super::super::{
    in_flight::End,
    message_registry::Known,
    verdict::{self, Instead, Shut},
};
use super::{
    queue::{HandedOut, Place},
    state::Word,
    worker::{Attempt, Stage, Task, attempt_of},
    world::{Call, World},
};
use crate::snapshots::Target;

const PARCELS_MAX: usize = 6;
const LATER: Duration = Duration::from_secs(1);
const AFTER_PANIC: Duration = Duration::from_secs(10);

/// Where a message came from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Due,
    Lane,
    /// The lane, and one of its deliveries is a probe.
    Probe(EndpointId),
}

impl World {
    pub(super) fn work(&mut self, number: usize) {
        if self.workers[number].hangs_until > self.now {
            return;
        }
        match self.dice.below(8u64) {
            0 => self.on_change(number),
            1 | 2 => self.pull(number),
            3 => self.take_from_lane(number),
            4..=6 => self.go_on(number),
            _ => self.close(number),
        }
        if self.workers[number].stopping && self.workers[number].is_idle() {
            self.tell(format!("{number} starts again"));
            self.replace(number);
        }
    }

    fn on_change(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        if let Some(change) = self.changes.get(worker.heard) {
            worker.on_change(change);
        }
    }

    fn has_room(&self, number: usize) -> bool {
        let worker = &self.workers[number];
        !worker.stopping && !self.is_away() && worker.messages.len() < PARCELS_MAX
    }

    fn pull(&mut self, number: usize) {
        if self.has_room(number)
            && let Some(message) = self.queue.take(Place::Due, self.now)
        {
            self.open(number, message, From::Due);
        }
    }

    fn take_from_lane(&mut self, number: usize) {
        let lanes = self.queue.lanes();
        if lanes.is_empty() || !self.has_room(number) {
            return;
        }
        let lane = self.dice.of(&lanes);
        let from = match self.workers[number].known.gate(lane, self.clock(number)) {
            Gate::Open => From::Lane,
            Gate::Probe if self.take_probe(number, lane) => From::Probe(lane),
            Gate::Shut { reason, .. } if reason.needs_a_person() => From::Lane,
            // Now and then it looks whether something there belongs elsewhere.
            Gate::Shut { .. } if self.dice.one_in(8) => From::Lane,
            _ => return,
        };
        if let Some(message) = self.queue.take(Place::Lane(lane), self.now) {
            self.open(number, message, from);
        }
    }

    /// Compared and set: one worker takes it.
    fn take_probe(&mut self, number: usize, lane: EndpointId) -> bool {
        let now = self.clock(number);
        let is_due = self
            .endpoint(lane)
            .is_some_and(|endpoint| endpoint.gate(now) == Gate::Probe);
        if !is_due || self.call() != Call::Done {
            return false;
        }
        if let Some((change, endpoint)) =
            self.change_endpoint(lane, |endpoint| endpoint.start_probe(now))
        {
            self.workers[number].known.set_endpoint(change, &endpoint);
        }
        true
    }

    fn settle(&mut self, sequence: u64) -> bool {
        let call = self.call();
        if call != Call::Failed {
            self.all_is_on_record(sequence);
            self.queue.settle(sequence);
        }
        call == Call::Done
    }

    /// As `intake` does.
    fn open(&mut self, number: usize, message: HandedOut, from: From) {
        let HandedOut {
            sequence,
            mut jobs,
            is_again,
        } = message;
        let first = jobs[0].clone();
        let now = self.now;
        let is_in_doubt = is_again || now < self.workers[number].doubts_until;
        if is_in_doubt && !self.workers[number].knows(sequence, &first) {
            jobs.retain(|job| !self.delivered.contains(&attempt_of(job)));
        }
        let known = &self.workers[number].known;
        jobs.retain(|job| known.void(job) != Some(Void::Superseded));
        if jobs.is_empty() {
            self.settle(sequence);
            return;
        }
        for job in &mut jobs {
            if let Some(Target::Url(url)) = known.target(job.matched.rule) {
                job.matched.url = url.to_string();
            }
        }
        if let Err(known) = self.workers[number].take((sequence, &first), &jobs) {
            match known {
                Known::InHand => self.queue.still_at_it(sequence, now),
                Known::DealtWith => {
                    if self.settle(sequence) {
                        self.workers[number].unsettled.remove(&sequence);
                    }
                }
                Known::InAnother => self.queue.hand_out_again(sequence, now.plus(LATER)),
            }
            return;
        }
        let attempts: Vec<Attempt> = jobs.iter().map(attempt_of).collect();
        self.tell(format!("{number} opens {sequence}: {attempts:?}"));
        let mut shares: BTreeMap<EndpointId, Vec<Job>> = BTreeMap::new();
        for job in jobs {
            let known = &self.workers[number].known;
            let (void, target) = (known.void(&job), known.target(job.matched.rule));
            match verdict::end_of(&job, void, target.as_ref(), self.clock(number)) {
                Some((state, _)) => {
                    self.begin(number, sequence, vec![job], Stage::Ending(state));
                }
                None => shares.entry(endpoint_of(&job)).or_default().push(job),
            }
        }
        for (endpoint, share) in shares {
            self.place(number, sequence, (endpoint, share), from);
        }
    }

    /// Finds a place for what of a message goes to one endpoint.
    fn place(
        &mut self,
        number: usize,
        sequence: u64,
        (endpoint, mut share): (EndpointId, Vec<Job>),
        from: From,
    ) {
        let now = self.clock(number);
        let gate = self.workers[number].known.gate(endpoint, now);
        if from == From::Probe(endpoint) {
            let probe = share.remove(0);
            self.begin(number, sequence, vec![probe], Stage::Waiting);
            if let Some(task) = self.workers[number].tasks.last_mut() {
                task.is_probe = true;
            }
        }
        match verdict::shut(gate, now) {
            _ if share.is_empty() => {}
            // Now and then there are too many for the endpoint.
            None if from == From::Lane || !self.dice.one_in(10) => {
                for job in share {
                    self.begin(number, sequence, vec![job], Stage::Waiting);
                }
            }
            shut => self.put(number, sequence, share, shut),
        }
    }

    fn begin(&mut self, number: usize, sequence: u64, jobs: Vec<Job>, stage: Stage) {
        let worker = &mut self.workers[number];
        if !matches!(stage, Stage::Waiting) {
            worker.touch(sequence);
        }
        worker.tasks.push(Task {
            sequence,
            jobs,
            is_probe: false,
            stage,
        });
    }

    /// As `elsewhere` does.
    fn put(&mut self, number: usize, sequence: u64, jobs: Vec<Job>, shut: Option<Shut>) {
        let stage = match shut {
            Some((reason, _)) if reason.needs_a_person() => Stage::Ending(State::Held),
            _ => Stage::Parking {
                shut,
                is_on_record: false,
            },
        };
        self.begin(number, sequence, jobs, stage);
    }

    /// One of its tasks goes a step further.
    fn go_on(&mut self, number: usize) {
        let count = self.workers[number].tasks.len() as u64;
        if count == 0 {
            return;
        }
        let place = usize::try_from(self.dice.below(count)).expect("few");
        let task = &self.workers[number].tasks[place];
        let (sequence, jobs, stage) = (task.sequence, task.jobs.clone(), task.stage.clone());
        match stage {
            Stage::Waiting => self.start(number, place),
            Stage::Sending { until, answer } => {
                if until <= self.now {
                    self.answered(&jobs[0], &answer);
                    let next = self.learn(number, &jobs[0], &answer);
                    self.workers[number].tasks[place].stage = Stage::Recording {
                        next,
                        is_on_record: false,
                    };
                }
            }
            Stage::Recording { .. } => self.record(number, place),
            Stage::Parking { shut, is_on_record } => {
                let is_on_record = is_on_record || self.hold(number, place, shut);
                if is_on_record {
                    let lane = Place::Lane(endpoint_of(&jobs[0]));
                    let jobs = self.workers[number].tasks[place].jobs.clone();
                    self.publish(number, place, lane, (sequence, &jobs));
                }
            }
            Stage::Ending(state) => {
                let call = self.call();
                if call != Call::Failed {
                    for job in &jobs {
                        self.say(
                            job,
                            state,
                            Word::Change {
                                round_at: job.since,
                                is_over: true,
                            },
                        );
                    }
                }
                if call == Call::Done {
                    self.workers[number].end_task(place, true);
                }
            }
            Stage::QueuingAnew => self.publish(number, place, Place::Due, (sequence, &jobs)),
        }
    }

    /// Publishes what is moved on from a message, and is done with it once it is known to be there.
    fn publish(&mut self, number: usize, place: usize, to: Place, (sequence, jobs): (u64, &[Job])) {
        if !self.record_before_moving(jobs) {
            return;
        }
        let call = self.call();
        self.tell(format!("{number} moves {sequence} to {to:?}: {call:?}"));
        if call != Call::Failed {
            for bundle in bundles(jobs) {
                let name = format!("{}{}", moved_from(sequence), name(&bundle));
                let jobs = bundle.into_iter().cloned().collect();
                self.queue.publish(to, jobs, name, self.now);
            }
        }
        if call == Call::Done {
            self.workers[number].end_task(place, true);
        }
    }

    /// As `attempt` does.
    fn start(&mut self, number: usize, place: usize) {
        let task = &self.workers[number].tasks[place];
        let (sequence, job) = (task.sequence, task.jobs[0].clone());
        let now = self.clock(number);
        let known = self.workers[number].known.of(&job, now);
        let Some(instead) = verdict::instead(&job, task.is_probe, &known, now) else {
            let answer = self.send(number, &job);
            let took = Duration::from_millis(self.dice.below(3_000u64));
            let worker = &mut self.workers[number];
            worker.touch(sequence);
            worker.tasks[place].stage = Stage::Sending {
                until: self.now.plus(took),
                answer,
            };
            return;
        };
        self.workers[number].touch(sequence);
        let task = &mut self.workers[number].tasks[place];
        match instead {
            Instead::Forget => self.workers[number].end_task(place, true),
            Instead::End(state, _) => task.stage = Stage::Ending(state),
            Instead::Move => task.stage = Stage::QueuingAnew,
            Instead::Clear(shut) => self.clear(number, endpoint_of(&job), shut),
        }
    }

    /// Everything that waits for an endpoint goes elsewhere, by message.
    fn clear(&mut self, number: usize, endpoint: EndpointId, shut: Shut) {
        let worker = &mut self.workers[number];
        let waits = |task: &Task| {
            matches!(task.stage, Stage::Waiting) && endpoint_of(&task.jobs[0]) == endpoint
        };
        let mut by_message: BTreeMap<u64, Vec<Job>> = BTreeMap::new();
        let tasks = std::mem::take(&mut worker.tasks);
        let (cleared, rest): (Vec<Task>, Vec<Task>) = tasks.into_iter().partition(waits);
        worker.tasks = rest;
        for task in cleared {
            by_message
                .entry(task.sequence)
                .or_default()
                .extend(task.jobs);
        }
        for (sequence, jobs) in by_message {
            self.put(number, sequence, jobs, Some(shut));
        }
    }

    /// What an answer says of its endpoint, if the journal takes it, and what follows.
    fn learn(&mut self, number: usize, job: &Job, answer: &Answer) -> Next {
        let (id, now) = (endpoint_of(job), self.clock(number));
        let trips = answer.outcome != Outcome::Delivered && self.dice.one_in(10);
        let attempt = (job.matched.delivery, job.attempt);
        let next = schedule::next(attempt, job.round(), answer, now);
        if self.call() != Call::Done {
            return next;
        }
        let learned = self.change_endpoint(id, |endpoint| {
            endpoint.learn(answer, trips, now);
        });
        let Some((change, endpoint)) = learned else {
            return next;
        };
        self.workers[number].known.set_endpoint(change, &endpoint);
        verdict::unless_shut(next, endpoint.gate(now))
    }

    pub(super) fn publish_later(&mut self, sequence: u64, job: Job) {
        let name = format!("{}{}", moved_from(sequence), attempt_id(&job));
        let place = Place::Later(job.matched.delivery, job.due_at);
        self.queue.publish(place, vec![job], name, self.now);
    }

    /// A message whose last delivery is out of its hands ends.
    fn close(&mut self, number: usize) {
        let count = self.workers[number].closing.len() as u64;
        if count == 0 {
            return;
        }
        let place = usize::try_from(self.dice.below(count)).expect("few");
        let sequence = self.workers[number].closing[place].0;
        if let End::QueueAgain(jobs) = &self.workers[number].closing[place].1 {
            let jobs = jobs.clone();
            if !self.queue_again(number, sequence, jobs) {
                return;
            }
            self.workers[number].closing[place].1 = End::Settle;
            return;
        }
        let is_whole = self.workers[number].closing[place].1 == End::HandBack;
        if is_whole {
            if self.call() != Call::Failed {
                self.queue.hand_out_again(sequence, self.now);
            }
        } else {
            self.workers[number].remember(sequence);
            // After ten seconds it is given up, and comes back.
            let gives_up = self.is_alone() && self.dice.one_in(4);
            if !self.settle(sequence) {
                if !gives_up {
                    return;
                }
                self.workers[number].give_up(sequence);
            }
        }
        self.tell(format!("{number} puts {sequence} down"));
        let worker = &mut self.workers[number];
        worker.closing.swap_remove(place);
        worker.put_down(sequence);
    }

    /// Queues what was not dealt with; whether that is known to be done.
    fn queue_again(&mut self, number: usize, sequence: u64, jobs: Vec<Job>) -> bool {
        if !self.record_before_moving(&jobs) {
            return false;
        }
        let call = self.call();
        if call == Call::Failed {
            return false;
        }
        if self.workers[number].stopping {
            for bundle in bundles(&jobs) {
                let name = format!("{}{}", moved_from(sequence), name(&bundle));
                let jobs = bundle.into_iter().cloned().collect();
                self.queue.publish(Place::Due, jobs, name, self.now);
            }
        } else {
            for mut job in jobs {
                job.due_at = self.clock(number).plus(AFTER_PANIC).max(job.since);
                self.publish_later(sequence, job);
            }
        }
        call == Call::Done
    }
}

fn endpoint_of(job: &Job) -> EndpointId {
    EndpointId::of(job.matched.org, &job.matched.url)
}
