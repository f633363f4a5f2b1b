//! What workers put on record, and what must be there.

use domain::delivery::{State, Trigger, schedule::Next};
use journal::{cancellations::Void, record::Job};

use super::super::verdict::Shut;
use super::{
    state::Word,
    worker::{Stage, attempt_of},
    world::{Call, World},
};

impl World {
    pub(super) fn say(&mut self, job: &Job, state: State, word: Word) {
        self.tell(format!("{} is {state:?} by {word:?}", job.matched.delivery));
        self.standings.say(job.matched.delivery, state, word);
    }

    /// Puts an attempt on record, then queues the next.
    pub(super) fn record(&mut self, number: usize, place: usize) {
        let worker = &self.workers[number];
        let task = &worker.tasks[place];
        let (sequence, job) = (task.sequence, task.jobs[0].clone());
        let Stage::Recording { next, is_on_record } = task.stage else {
            return;
        };
        let call = self.call();
        if !is_on_record {
            if call != Call::Failed {
                let word = Word::Attempt {
                    number: job.attempt,
                    due_at: job.due_at,
                };
                self.say(&job, next.state(), word);
                if next.state() == State::Delivered {
                    self.delivered.insert(attempt_of(&job));
                }
            }
            if call == Call::Done
                && let Stage::Recording { is_on_record, .. } =
                    &mut self.workers[number].tasks[place].stage
            {
                *is_on_record = true;
            }
            return;
        }
        if let Next::At { due, step } = next
            && call != Call::Failed
        {
            let again = Job {
                attempt: job.attempt + 1,
                trigger: Trigger::Retry,
                due_at: due,
                step,
                held: None,
                ..job.clone()
            };
            self.publish_later(sequence, again);
        }
        if call == Call::Done {
            self.workers[number].end_task(place, true);
        }
    }

    /// Puts on record that deliveries are held; whether they are.
    pub(super) fn hold(&mut self, number: usize, place: usize, shut: Option<Shut>) -> bool {
        let Some((reason, _)) = shut else {
            return true;
        };
        let call = self.call();
        let task = &mut self.workers[number].tasks[place];
        let news: Vec<Job> = task
            .jobs
            .iter()
            .filter(|job| job.held != Some(reason))
            .cloned()
            .collect();
        if call == Call::Done {
            task.stage = Stage::Parking {
                shut,
                is_on_record: true,
            };
            for job in &mut task.jobs {
                job.held = Some(reason);
            }
        }
        if call != Call::Failed {
            for job in &news {
                self.say(
                    job,
                    State::Held,
                    Word::Change {
                        round_at: job.since,
                        is_over: false,
                    },
                );
            }
        }
        call == Call::Done
    }

    /// Puts on record that deliveries wait of which nothing is there; whether it is known to be.
    pub(super) fn record_before_moving(&mut self, jobs: &[Job]) -> bool {
        let is_first = |job: &&Job| job.attempt == 1 && job.held.is_none();
        let news: Vec<&Job> = jobs.iter().filter(is_first).collect();
        if news.is_empty() {
            return true;
        }
        let call = self.call();
        if call != Call::Failed {
            for job in news {
                self.say(job, State::Pending, Word::Moved);
            }
        }
        call == Call::Done
    }

    /// Before a message is settled: if the queue forgets its name, whoever queues it again sees that it was there.
    pub(super) fn all_is_on_record(&self, sequence: u64) {
        for job in self.queue.message(sequence) {
            let delivery = job.matched.delivery;
            let standing = &self.standings.0[&delivery];
            let is_void = self.voided.get(&delivery);
            let is_void =
                is_void.is_some_and(|it| it.why == Void::Superseded && job.since <= it.until);
            self.must(
                standing.is_on_record || is_void,
                &format!("{delivery} is on record, whose message is settled"),
            );
        }
    }
}
