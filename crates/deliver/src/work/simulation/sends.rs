//! Requests that leave, what receivers answer, and what must be so of each.

use std::time::Duration;

use domain::delivery::{Answer, Outcome};
use journal::record::Job;

use super::{
    worker::attempt_of,
    world::{TICK, World},
};
use crate::snapshots::Target;

#[derive(Debug, Default)]
pub(super) struct Sends {
    count: u32,
    /// Somebody is sending it now.
    pub(super) is_under_way: bool,
}

impl World {
    /// A request leaves; what the receiver will answer.
    pub(super) fn send(&mut self, worker: usize, job: &Job) -> Answer {
        let attempt = attempt_of(job);
        self.tell(format!("{worker} sends {attempt:?}"));
        let (now, sends) = (self.now, self.sends.entry(attempt).or_default());
        let is_under_way = std::mem::replace(&mut sends.is_under_way, true);
        sends.count += 1;
        let deaths = self.deaths.get(&(attempt.0, attempt.2));
        let deaths = deaths.copied().unwrap_or_default();
        let is_excused = sends.count <= 1 + deaths;
        // Who dies between moving a delivery and settling its message leaves two of it.
        let may_be_two = deaths > 0;
        self.must(
            !is_under_way || may_be_two,
            "nobody else sends it at the same time",
        );
        self.must(
            is_excused,
            "it is sent once, but for those who died with it in hand",
        );
        // A round begins a moment after what is void, which may be now.
        self.must(job.due_at <= now.plus(TICK), "it is due");
        let known = &self.workers[worker].known;
        let is_void = known.void(job).is_some();
        self.must(
            !is_void,
            "nobody is known to have canceled or superseded it",
        );
        let is_there = match known.target(job.matched.rule) {
            Some(Target::Url(url)) => *url == *job.matched.url,
            Some(Target::Gone) => false,
            None => true,
        };
        self.must(is_there, "it goes where its rule is known to go");
        let status = if self.is_calm {
            200
        } else {
            self.dice
                .of(&[200, 200, 200, 200, 200, 500, 500, 400, 413, 429, 503])
        };
        let asks = matches!(status, 429 | 503) && self.dice.one_in(2);
        Answer {
            outcome: Outcome::of_status(status),
            status: Some(status),
            retry_after: asks.then(|| Duration::from_secs(1 + self.dice.below(40u64))),
            timed_out: false,
        }
    }

    pub(super) fn answered(&mut self, job: &Job, answer: &Answer) {
        if let Some(sends) = self.sends.get_mut(&attempt_of(job)) {
            sends.is_under_way = false;
        }
        if answer.outcome == Outcome::Delivered {
            self.acknowledged.insert(job.matched.delivery);
        }
    }

    pub(super) fn attempts(&self) -> u32 {
        u32::try_from(self.sends.values().filter(|sends| sends.count > 0).count()).expect("few")
    }

    pub(super) fn sends_in_all(&self) -> u32 {
        self.sends.values().map(|sends| sends.count).sum()
    }
}
