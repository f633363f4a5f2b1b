//! When a breaker opens: a tally of one endpoint's last answers, kept by one worker.
//!
//! It is not shared: each worker sees a dead receiver by itself. What an open breaker does is in [`endpoint`](super::endpoint).

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

/// What counts toward opening a breaker.
#[derive(Clone, Debug, Default)]
pub struct FailureTally {
    in_a_row: u32,
    buckets: [Bucket; BUCKETS],
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// Which 5 seconds since 1970 it counts.
    period: u64,
    attempts: u32,
    failures: u32,
}

impl FailureTally {
    /// Counts how one attempt ended, at `now`. Returns whether the breaker should open; only a failure says so.
    pub fn answered(&mut self, answer: &Answer, now: Timestamp) -> bool {
        if !answer.outcome.is_about_the_receiver() {
            return false;
        }
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
        if answer.outcome != Outcome::Transient {
            self.in_a_row = 0;
            return false;
        }
        bucket.failures += 1;
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.in_a_row >= FAILURES_IN_A_ROW || self.fails_too_often(period)
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
    use super::super::test_answers::{no_answer, status};
    use super::*;

    const START: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

    fn after_seconds(seconds: u64) -> Timestamp {
        START.plus(std::time::Duration::from_secs(seconds))
    }

    #[test]
    fn ten_failures_in_a_row_open_the_breaker_however_long_they_take() {
        let mut tally = FailureTally::default();
        for number in 1..=9 {
            assert!(!tally.answered(&status(500), after_seconds(number * 3_600)));
        }
        assert!(tally.clone().answered(&status(500), after_seconds(36_000)));
        assert!(
            !tally
                .clone()
                .answered(&no_answer(Outcome::OurFault, false), after_seconds(36_000))
        );
        tally.answered(&status(404), after_seconds(36_000));
        assert!(
            !tally.answered(&status(500), after_seconds(36_000)),
            "the row was broken"
        );
    }

    #[test]
    fn half_of_twenty_within_a_minute_open_the_breaker() {
        let trips = |attempts: u64, apart: u64| {
            let mut tally = FailureTally::default();
            let answers = (1..=attempts).map(|number| {
                let answer = if number % 2 == 0 { 500 } else { 200 };
                tally.answered(&status(answer), after_seconds(number * apart))
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
}
