//! What one worker knows of one endpoint: what it has of it here, how fast it answers, and how much it takes at a time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    Timestamp,
    delivery::{Answer, FailureTally, Host, SendWindow},
};
use tokio::sync::Notify;

/// Deliveries that one endpoint may have in a worker, waiting or in flight; the rest stands in its lane. Enough that
/// a quick receiver never waits for the next pull. What is answered does not count any more, however long it takes to put it
/// on record.
pub(super) const JOBS_PER_ENDPOINT_MAX: usize = 256;
/// A slow one keeps what came with its deliveries from being settled, so it may have them of so many messages only: few enough that
/// many slow ones fit beside each other.
const MESSAGES_PER_SLOW_ENDPOINT_MAX: usize = 16;
/// Slow is who takes longer than this on average, or says nothing at all for so long. Of the average each answer is one part
/// in so many.
const QUICK: Duration = Duration::from_millis(100);
const ANSWER_SHARE: u32 = 8;

/// What this worker knows of an endpoint.
pub(super) struct EndpointSlots {
    /// `None`: only its lane was found so far.
    pub(super) host: Option<Host>,
    pub(super) window: SendWindow,
    failures: FailureTally,
    pub(super) in_flight: u32,
    /// How long it takes to answer, on average.
    answers_in: Duration,
    /// When it last answered, or was sent something while nothing else was in flight.
    heard_at: Option<Instant>,
    /// Of so many messages something is here that has no answer yet.
    pub(super) shares: usize,
    pub(super) has_open_breaker: bool,
    /// The lane had less than there was room for: what is due need not stand in line any more.
    pub(super) is_drained: bool,
    /// A rule goes elsewhere now, or is gone, and something of it may stand in the lane.
    pub(super) has_strays: bool,
    /// Wakes whoever takes from its lane, if somebody does.
    pub(super) lane: Option<Arc<Notify>>,
}

impl EndpointSlots {
    pub(super) fn new(per_endpoint: u32) -> Self {
        Self {
            host: None,
            window: SendWindow::new(per_endpoint),
            failures: FailureTally::default(),
            in_flight: 0,
            answers_in: Duration::ZERO,
            heard_at: None,
            shares: 0,
            has_open_breaker: false,
            is_drained: false,
            has_strays: false,
            lane: None,
        }
    }

    pub(super) fn send(&mut self) {
        if self.in_flight == 0 {
            self.heard_at = Some(Instant::now());
        }
        self.in_flight += 1;
    }

    /// Takes in an answer that took so long; whether the breaker should open.
    pub(super) fn answered(&mut self, answer: &Answer, took: Duration, now: Timestamp) -> bool {
        self.window.answered(answer);
        self.answered_in(took);
        self.failures.answered(answer, now)
    }

    /// It is sent to slowly at first. What was counted before is forgotten, or the next failure would open it again.
    pub(super) fn breaker_closed(&mut self) {
        self.window.ramp();
        self.failures = FailureTally::default();
    }

    fn answered_in(&mut self, took: Duration) {
        let before = self.answers_in * (ANSWER_SHARE - 1);
        self.answers_in = (before + took) / ANSWER_SHARE;
        self.heard_at = Some(Instant::now());
    }

    /// Of how many messages it may have something here.
    pub(super) fn shares_max(&self) -> usize {
        let is_silent = |heard_at: Instant| self.in_flight > 0 && heard_at.elapsed() > QUICK;
        if self.answers_in > QUICK || self.heard_at.is_some_and(is_silent) {
            MESSAGES_PER_SLOW_ENDPOINT_MAX
        } else {
            JOBS_PER_ENDPOINT_MAX
        }
    }

    pub(super) fn rule_left(&mut self) {
        if let Some(lane) = &self.lane {
            self.has_strays = true;
            lane.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::delivery::Outcome;

    use super::*;

    #[test]
    fn an_endpoint_that_is_slow_or_silent_may_have_something_of_few_messages() {
        let mut slots = EndpointSlots::new(8);
        assert_eq!(slots.shares_max(), JOBS_PER_ENDPOINT_MAX, "nobody knows");
        slots.send();
        slots.heard_at = Instant::now().checked_sub(QUICK * 2);
        assert_eq!(slots.shares_max(), MESSAGES_PER_SLOW_ENDPOINT_MAX, "silent");
        slots.answered_in(QUICK / 2);
        assert_eq!(slots.shares_max(), JOBS_PER_ENDPOINT_MAX, "quick");
        slots.answered_in(QUICK * 10);
        assert_eq!(slots.shares_max(), MESSAGES_PER_SLOW_ENDPOINT_MAX, "slow");
    }

    #[test]
    fn a_breaker_that_closed_is_not_opened_by_what_was_counted_before() {
        let failed = Answer {
            outcome: Outcome::Transient,
            status: Some(500),
            retry_after: None,
            timed_out: false,
        };
        let mut slots = EndpointSlots::new(8);
        let mut answered = || slots.answered(&failed, QUICK, Timestamp::default());
        assert!((0..30).any(|_| answered()));
        slots.breaker_closed();
        assert!(!slots.answered(&failed, QUICK, Timestamp::default()));
        assert_eq!(slots.window.limit(), 1);
    }
}
