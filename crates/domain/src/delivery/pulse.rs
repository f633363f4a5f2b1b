//! A pulse: what one worker knows of one endpoint, which is how much it takes at a time and how many
//! of its last answers were failures.
//!
//! The window is what TCP has too: it halves when the receiver is too slow or says that it has too much, and grows
//! by one for each whole window of successes. The tally is that of the breaker. Neither is shared:
//! each worker finds its own share of what the receiver can take, and sees a dead one by itself.

use super::{Answer, Outcome};
use crate::Timestamp;

/// So many transient failures in a row open the breaker.
const FAILURES_IN_A_ROW: u32 = 10;

/// So many attempts in the window of the tally are enough to judge by their share of failures..
const ATTEMPTS_MIN: u32 = 20;

/// ..and one failure in so many opens the breaker.
const FAILED_SHARE: u32 = 2;

/// The tally looks back 60 seconds, in buckets, so that its size does not depend on the traffic.
const BUCKETS: usize = 12;
const BUCKET_SECONDS: u64 = 5;

/// How one worker gets on with one endpoint.
#[derive(Clone, Debug)]
pub struct Pulse {
    max: u32,
    limit: u32,
    /// Successes since the window last changed.
    credit: u32,
    /// The breaker has just closed: the window doubles.
    ramping: bool,
    failures_in_a_row: u32,
    buckets: [Bucket; BUCKETS],
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// Which 5 seconds since 1970 it counts.
    period: u64,
    attempts: u32,
    failures: u32,
}

impl Pulse {
    /// A new endpoint is trusted with all that the setting allows.
    pub fn new(max: u32) -> Self {
        let max = max.max(1);
        Self {
            max,
            limit: max,
            credit: 0,
            ramping: false,
            failures_in_a_row: 0,
            buckets: [Bucket::default(); BUCKETS],
        }
    }

    /// How many attempts may be in flight.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Takes in how one attempt ended, at `now`. Returns whether the breaker should open; only a
    /// failure says so.
    pub fn learn(&mut self, answer: &Answer, now: Timestamp) -> bool {
        if !answer.outcome.is_about_the_receiver() {
            return false;
        }
        self.size(answer);
        self.count(answer.outcome == Outcome::Transient, now)
    }

    /// Begins again with one at a time, because the breaker has closed: 1, 2, 4, 8. What was counted
    /// before is forgotten, or the next failure would open it again.
    pub fn ramp(&mut self) {
        *self = Self {
            limit: 1,
            ramping: self.max > 1,
            ..Self::new(self.max)
        };
    }

    fn size(&mut self, answer: &Answer) {
        let overloaded = answer.timed_out || matches!(answer.status, Some(429 | 502..=504));
        if answer.outcome != Outcome::Delivered {
            self.ramping = false;
            if overloaded {
                self.limit = (self.limit / 2).max(1);
                self.credit = 0;
            }
        } else if self.ramping {
            self.limit = self.limit.saturating_mul(2).min(self.max);
            self.ramping = self.limit < self.max;
        } else if self.limit < self.max {
            self.credit += 1;
            if self.credit >= self.limit {
                self.limit += 1;
                self.credit = 0;
            }
        }
    }

    fn count(&mut self, failed: bool, now: Timestamp) -> bool {
        let period = u64::try_from(now.unix_seconds()).unwrap_or(0) / BUCKET_SECONDS;
        let place = period % BUCKETS as u64;
        let bucket = &mut self.buckets[usize::try_from(place).expect("it is below BUCKETS")];
        if bucket.period != period {
            *bucket = Bucket {
                period,
                ..Bucket::default()
            };
        }
        bucket.attempts += 1;
        if !failed {
            self.failures_in_a_row = 0;
            return false;
        }
        bucket.failures += 1;
        self.failures_in_a_row = self.failures_in_a_row.saturating_add(1);
        self.failures_in_a_row >= FAILURES_IN_A_ROW || self.fails_too_often(period)
    }

    fn fails_too_often(&self, period: u64) -> bool {
        let looked_at = (period + 1).saturating_sub(BUCKETS as u64)..=period;
        let recent = self
            .buckets
            .iter()
            .filter(|bucket| looked_at.contains(&bucket.period));
        let (attempts, failures) = recent.fold((0, 0), |(attempts, failures), bucket| {
            (attempts + bucket.attempts, failures + bucket.failures)
        });
        attempts >= ATTEMPTS_MIN && failures * FAILED_SHARE >= attempts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

    fn status(status: u16) -> Answer {
        Answer {
            outcome: Outcome::of_status(status),
            status: Some(status),
            retry_after: None,
            timed_out: false,
        }
    }

    fn no_answer(outcome: Outcome, timed_out: bool) -> Answer {
        Answer {
            outcome,
            status: None,
            retry_after: None,
            timed_out,
        }
    }

    fn after_seconds(seconds: u64) -> Timestamp {
        START.plus(std::time::Duration::from_secs(seconds))
    }

    #[test]
    fn the_window_halves_on_overload_and_nothing_else() {
        let slow = no_answer(Outcome::Transient, true);
        let refused = no_answer(Outcome::Transient, false);
        let ours = no_answer(Outcome::OurFault, true);
        for (answer, limit) in [
            (slow, 4),
            (status(429), 4),
            (status(502), 4),
            (status(503), 4),
            (status(504), 4),
            (status(500), 8),
            (status(404), 8),
            (status(301), 8),
            (refused, 8),
            (ours, 8),
        ] {
            let mut pulse = Pulse::new(8);
            pulse.learn(&answer, START);
            assert_eq!(pulse.limit(), limit, "{answer:?}");
        }
    }

    #[test]
    fn the_window_grows_by_one_for_each_window_of_successes() {
        let mut pulse = Pulse::new(4);
        for _ in 0..9 {
            pulse.learn(&status(503), START);
        }
        assert_eq!(pulse.limit(), 1);
        let limits: Vec<u32> = (0..8)
            .map(|_| {
                pulse.learn(&status(200), START);
                pulse.limit()
            })
            .collect();
        assert_eq!(limits, [2, 2, 3, 3, 3, 4, 4, 4]);
    }

    #[test]
    fn after_the_breaker_closed_the_window_doubles_with_each_success() {
        let mut pulse = Pulse::new(8);
        pulse.ramp();
        let mut limits = vec![pulse.limit()];
        for _ in 0..4 {
            pulse.learn(&status(200), START);
            limits.push(pulse.limit());
        }
        assert_eq!(limits, [1, 2, 4, 8, 8]);
        pulse.ramp();
        for answer in [status(200), status(500), status(200)] {
            pulse.learn(&answer, START);
        }
        assert_eq!(pulse.limit(), 2, "a failure ends the doubling");
    }

    #[test]
    fn ten_failures_in_a_row_open_the_breaker_however_long_they_take() {
        let mut pulse = Pulse::new(8);
        for number in 1..=9 {
            assert!(!pulse.learn(&status(500), after_seconds(number * 3_600)));
        }
        assert!(pulse.clone().learn(&status(500), after_seconds(36_000)));
        assert!(
            !pulse
                .clone()
                .learn(&no_answer(Outcome::OurFault, false), after_seconds(36_000))
        );
        pulse.learn(&status(404), after_seconds(36_000));
        assert!(
            !pulse.learn(&status(500), after_seconds(36_000)),
            "the row was broken"
        );
    }

    #[test]
    fn half_of_twenty_within_a_minute_open_the_breaker() {
        let trips = |attempts: u64, apart: u64| {
            let mut pulse = Pulse::new(8);
            let answers = (1..=attempts).map(|number| {
                let answer = if number % 2 == 0 { 500 } else { 200 };
                pulse.learn(&status(answer), after_seconds(number * apart))
            });
            answers.collect::<Vec<_>>()
        };
        assert!(!trips(19, 1).contains(&true));
        assert!(trips(20, 1)[19]);
        assert!(
            !trips(100, 5).contains(&true),
            "twelve a minute are too few"
        );
    }

    #[test]
    fn a_ramp_forgets_what_was_counted() {
        let mut pulse = Pulse::new(8);
        for _ in 0..30 {
            pulse.learn(&status(500), START);
        }
        pulse.ramp();
        assert!(!pulse.learn(&status(500), START));
    }

    proptest! {
        #[test]
        fn the_window_is_never_empty_and_never_larger_than_the_setting(
            max in 0u32..70,
            answers in prop::collection::vec((100u16..600, any::<bool>()), 0..200),
        ) {
            let mut pulse = Pulse::new(max);
            for (code, ramp) in answers {
                pulse.learn(&status(code), START);
                if ramp {
                    pulse.ramp();
                }
                prop_assert!((1..=max.max(1)).contains(&pulse.limit()));
            }
        }
    }
}
