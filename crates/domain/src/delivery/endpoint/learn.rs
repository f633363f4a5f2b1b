//! What an answer changes about an endpoint.
//!
//! An answer can be late: its attempt began before somebody paused the endpoint, before its breaker
//! opened or closed, before it asked for quiet. What was chosen, so that none does harm:
//!
//! - While it is paused or disabled nothing is learned. Only a person ends that, and then everything
//!   is forgotten anyway.
//! - A success does not end a quiet that still lasts: nothing is sent during it, so the attempt began
//!   before, and one header should quiet everything.
//! - A success closes the breaker even if its attempt began before it opened: the receiver takes
//!   deliveries, which is all that a probe would find out.
//! - A failure that comes after the success that closed the breaker begins a new run of failures,
//!   which the next success ends. It opens the breaker again only with `trips`, which takes ten
//!   failures or half of twenty that one worker saw since it knew of the closing; if that worker did
//!   not know yet, the first probe, 5 seconds later, puts it right.
//! - Nothing that is counted goes down but by a success, and nothing lasts shorter.

use std::time::Duration;

use super::{Endpoint, Failing, Notice, OpenBreaker, Status, Why};
use crate::{
    Timestamp,
    delivery::{Answer, Outcome},
};

const fn hours(count: u64) -> Duration {
    Duration::from_secs(60 * 60 * count)
}

/// How long it has to fail before its owner is told, and told again.
const FAILING_NOTICES: [(Duration, Notice); 3] = [
    (Duration::from_secs(15 * 60), Notice::FailingFor15Minutes),
    (hours(1), Notice::FailingForAnHour),
    (hours(24), Notice::FailingForADay),
];

/// Who has taken nothing for so long will not take the next either: as long as a delivery lives.
const DISABLED_AFTER: Duration = hours(72);

/// Fewer attempts say little, however long ago the first was: a quiet rule may fire once a day.
const DISABLED_AFTER_ATTEMPTS: u32 = 20;

/// The second 410 has to come so much later: a deploy that answers 410 for a moment is not gone.
const GONE_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// One refusal can be a bad event, three in a row are a bad setting.
const REJECTED_IN_A_ROW: u32 = 3;

impl Endpoint {
    /// Takes in how one attempt ended, at `now`. `trips` says that the worker that made it saw enough
    /// failures for the breaker. Returns what the owner should know.
    pub fn learn(&mut self, answer: &Answer, trips: bool, now: Timestamp) -> Vec<Notice> {
        let says_nothing = matches!(answer.outcome, Outcome::OurFault | Outcome::Blocked);
        if says_nothing || self.status != Status::Active {
            return Vec::new();
        }
        if self.quiet_until.is_some_and(|until| until <= now) {
            self.quiet_until = None;
        }
        if answer.outcome == Outcome::Delivered {
            return self.learn_success();
        }
        if let Some(quiet) = answer.quiet() {
            self.quiet_until = self.quiet_until.max(Some(now.plus(quiet)));
        }
        if self.is_gone(answer, now) {
            return self.disable(Why::Gone, now);
        }
        let mut failing = self.failing.unwrap_or_else(|| Failing::new(now));
        let mut notices = failing.learn(answer.outcome, now);
        self.failing = Some(failing);
        if failing.is_hopeless(now) {
            return self.disable(Why::Failing, now);
        }
        if trips && answer.outcome == Outcome::Transient && self.breaker.is_none() {
            self.breaker = Some(OpenBreaker::new(now));
            notices.push(Notice::BreakerOpened);
        }
        notices
    }

    fn learn_success(&mut self) -> Vec<Notice> {
        self.failing = None;
        self.gone_at = None;
        let closed = self.breaker.take();
        closed.map(|_| Notice::BreakerClosed).into_iter().collect()
    }

    /// Whether it has now said often enough that it is gone. Only an answer takes that back; that
    /// nobody answers does not.
    fn is_gone(&mut self, answer: &Answer, now: Timestamp) -> bool {
        if answer.outcome == Outcome::Gone {
            let first = *self.gone_at.get_or_insert(now);
            return now.since(first) >= GONE_AGAIN_AFTER;
        }
        if answer.status.is_some() {
            self.gone_at = None;
        }
        false
    }

    /// The one notice of it says more than any other that is due.
    fn disable(&mut self, why: Why, now: Timestamp) -> Vec<Notice> {
        self.status = Status::Disabled { since: now, why };
        vec![Notice::Disabled]
    }
}

impl Failing {
    fn new(now: Timestamp) -> Self {
        Self {
            since: now,
            attempts: 0,
            notices: 0,
            rejected: 0,
            told_rejecting: false,
            told_redirecting: false,
        }
    }

    fn learn(&mut self, outcome: Outcome, now: Timestamp) -> Vec<Notice> {
        self.attempts = self.attempts.saturating_add(1);
        self.rejected = match outcome {
            Outcome::Rejected => self.rejected.saturating_add(1),
            _ => 0,
        };
        let mut notices: Vec<_> = self.overdue(now).into_iter().collect();
        if self.rejected >= REJECTED_IN_A_ROW && !self.told_rejecting {
            self.told_rejecting = true;
            notices.push(Notice::Rejecting);
        }
        if outcome == Outcome::Redirect && !self.told_redirecting {
            self.told_redirecting = true;
            notices.push(Notice::Redirecting);
        }
        notices
    }

    /// The last notice of a long failure that is due and was not given. If several became due since the
    /// last attempt, the longest says it all.
    fn overdue(&mut self, now: Timestamp) -> Option<Notice> {
        let lasted = now.since(self.since);
        let due = FAILING_NOTICES.partition_point(|(after, _)| *after <= lasted);
        let given = usize::from(self.notices);
        if due <= given {
            return None;
        }
        self.notices = u8::try_from(due).expect("there are three");
        Some(FAILING_NOTICES[due - 1].1)
    }

    fn is_hopeless(&self, now: Timestamp) -> bool {
        now.since(self.since) >= DISABLED_AFTER && self.attempts >= DISABLED_AFTER_ATTEMPTS
    }
}
