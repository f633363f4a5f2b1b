//! What breaks: processes are killed, stop and panic, and the journal is away.

use std::time::Duration;

use super::{
    worker::{Stage, Worker, attempt_of},
    world::{BEAT_EVERY, World},
};

/// How long the journal is away: not so long that the queue takes those who live for dead, or for a worker that is alone, which
/// then gets its own messages again.
const AWAY_MS_MAX: u64 = 8_000;
const AWAY_MS_MAX_ALONE: u64 = 60_000;

impl World {
    pub(super) fn something_breaks(&mut self) {
        let number = self.any_worker();
        match self.dice.below(6u64) {
            0 => {
                self.tell(format!("{number} is killed"));
                self.replace(number);
            }
            1..3 => {
                self.tell(format!("{number} is told to stop"));
                self.workers[number].stop();
            }
            3 => self.panic(number),
            // Between two of them everybody can say what they have in hand.
            _ if self.now > self.away_until.plus(BEAT_EVERY) => {
                let most = if self.is_alone() {
                    AWAY_MS_MAX_ALONE
                } else {
                    AWAY_MS_MAX
                };
                let ms = self.dice.below(most);
                self.tell(format!("the journal is away for {ms} ms"));
                self.away_until = self.now.plus(Duration::from_millis(ms));
            }
            _ => {}
        }
    }

    /// Another process takes its place, which knows nothing of what it had in hand or could not settle.
    pub(super) fn replace(&mut self, number: usize) {
        let new = Worker::start(&self.changes);
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
