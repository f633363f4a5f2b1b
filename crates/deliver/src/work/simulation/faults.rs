//! What breaks: processes are killed, hang, stop and panic, and the journal is away, or killed, and forgets who has what.

use std::time::Duration;

use domain::{Timestamp, delivery::State};
use journal::record::Job;

use super::super::in_flight::End;
use super::{
    state::Word,
    worker::{DOUBTED_FOR, Stage, attempt_of},
    world::{BEAT_EVERY, World},
};

/// How long the journal is away: not so long that the queue takes those who live for dead, or for a worker that is alone, which
/// then gets its own messages again.
const AWAY_MS_MAX: u64 = 8_000;
const AWAY_MS_MAX_ALONE: u64 = 60_000;
/// How long a process hangs: as little, or so long that others get what it has.
const HANGS_MS_MAX: u64 = 60_000;

/// What is on its way for longer is lost.
const ADRIFT_FOR: Duration = Duration::from_secs(5);

/// What was on its way to the journal when its sender died.
pub(super) enum Adrift {
    Record(Box<Job>, State),
    Settle(u64),
}

impl World {
    pub(super) fn something_breaks(&mut self) {
        let number = self.any_worker();
        // Between two times of silence everybody can say what they have in hand.
        let can_be_mute = self.now > self.mute_until.plus(BEAT_EVERY);
        match self.dice.below(9u64) {
            0 => {
                self.tell(format!("{number} is killed"));
                self.set_adrift(number);
                self.replace(number);
            }
            1..3 => {
                self.tell(format!("{number} is told to stop"));
                self.workers[number].stop();
            }
            3 => self.panic(number),
            4 if can_be_mute => {
                let ms = self.dice.below(AWAY_MS_MAX);
                self.hang(number, ms);
                self.mute_until = self.workers[number].hangs_until;
            }
            5 => {
                let ms = AWAY_MS_MAX + self.dice.below(HANGS_MS_MAX - AWAY_MS_MAX);
                self.excuse(number);
                self.hang(number, ms);
            }
            6 => self.forget(),
            _ if can_be_mute => {
                let most = if self.is_alone() {
                    AWAY_MS_MAX_ALONE
                } else {
                    AWAY_MS_MAX
                };
                let ms = self.dice.below(most);
                self.tell(format!("the journal is away for {ms} ms"));
                self.away_until = self.now.plus(Duration::from_millis(ms));
                self.mute_until = self.away_until;
            }
            _ => {}
        }
    }

    /// A process stands still, and goes on as if nothing had been.
    fn hang(&mut self, number: usize, ms: u64) {
        self.tell(format!("{number} hangs for {ms} ms"));
        let until: Timestamp = self.now.plus(Duration::from_millis(ms));
        let worker = &mut self.workers[number];
        worker.hangs_until = worker.hangs_until.max(until);
    }

    /// Others may get what this one has, and it will go on with it.
    fn excuse(&mut self, number: usize) {
        // Who is alone gets its own, and knows it.
        if self.is_alone() {
            return;
        }
        for (delivery, _, since) in self.workers[number].attempts() {
            *self.deaths.entry((delivery, since)).or_default() += 1;
        }
    }

    /// The journal is killed, and is back at once.
    fn forget(&mut self) {
        self.tell("the journal forgets who has what");
        for number in 0..self.workers.len() {
            self.excuse(number);
        }
        self.queue.forget(self.now, &mut self.dice);
        self.adrift.clear();
        // Whoever queues again what was settled looks at the record first; that is simulated where matchers are.
        self.queued.clear();
        for worker in &mut self.workers {
            worker.doubts_until = self.now.plus(DOUBTED_FOR);
        }
    }

    /// Some of what a process asked for arrives though it is dead.
    fn set_adrift(&mut self, number: usize) {
        let worker = &self.workers[number];
        let recording = worker.tasks.iter().filter_map(|task| match task.stage {
            Stage::Recording {
                next,
                is_on_record: false,
            } => Some(Adrift::Record(Box::new(task.jobs[0].clone()), next.state())),
            _ => None,
        });
        let settling = worker.closing.iter().filter_map(|(sequence, end)| {
            matches!(end, End::Settle).then_some(Adrift::Settle(*sequence))
        });
        let adrift: Vec<Adrift> = recording.chain(settling).collect();
        for one in adrift {
            if self.dice.one_in(2) {
                self.adrift.push((self.now, one));
            }
        }
    }

    /// Something arrives of which nobody will hear.
    pub(super) fn something_arrives(&mut self) {
        let now = self.now;
        self.adrift
            .retain(|(since, _)| now.since(*since) < ADRIFT_FOR);
        if self.adrift.is_empty() || self.is_away() {
            return;
        }
        let place = self.dice.place(self.adrift.len());
        match self.adrift.swap_remove(place).1 {
            Adrift::Record(job, state) => {
                let word = Word::Attempt {
                    number: job.attempt,
                    due_at: job.due_at,
                };
                self.say(&job, state, word);
                if state == State::Delivered {
                    self.delivered.insert(attempt_of(&job));
                }
            }
            Adrift::Settle(sequence) => {
                self.all_is_on_record(sequence);
                self.queue.settle(sequence);
            }
        }
    }

    /// Another process takes its place, which knows nothing of what it had in hand or could not settle.
    pub(super) fn replace(&mut self, number: usize) {
        let new = self.new_worker();
        let gone = std::mem::replace(&mut self.workers[number], new);
        for (delivery, _, since) in gone.attempts() {
            *self.deaths.entry((delivery, since)).or_default() += 1;
        }
        for task in &gone.tasks {
            if matches!(task.stage, Stage::Sending { .. })
                && let Some(sends) = self.sends.get_mut(&attempt_of(&task.jobs[0]))
            {
                sends.is_under_way = false;
            }
        }
    }

    fn panic(&mut self, number: usize) {
        let tasks = self.workers[number].tasks.iter();
        let sends =
            |stage: &Stage| matches!(stage, Stage::Sending { .. } | Stage::Recording { .. });
        let Some((place, task)) = tasks.enumerate().find(|(_, task)| sends(&task.stage)) else {
            return;
        };
        let attempt = attempt_of(&task.jobs[0]);
        self.tell(format!("{number} panics at {attempt:?}"));
        *self.deaths.entry((attempt.0, attempt.2)).or_default() += 1;
        self.sends.entry(attempt).or_default().is_under_way = false;
        self.workers[number].end_task(place, false);
    }
}
