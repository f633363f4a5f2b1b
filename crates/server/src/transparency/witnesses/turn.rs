//! Whose turn it is: when a witness or a log is asked again after it was asked, and since when which one waits.

use std::time::Duration;

use domain::Timestamp;
use tokio::time::Instant;

/// A log is asked about at most this often.
const LOG_EVERY: Duration = Duration::from_secs(1);
/// The first pause after a failure; it doubles.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// The longest pause after a witness did not answer. One connection in this time costs neither side anything.
pub(super) const WITNESS_PAUSE_MAX: Duration = Duration::from_secs(10);
/// The longest pause after a witness refused a log: it is there, and a person has to do something.
pub(super) const LOG_PAUSE_MAX: Duration = Duration::from_mins(1);

/// Pauses between tries, longer each time; while there are any, one try at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    pause_max: Duration,
    failures: u32,
    next: Instant,
}

impl Backoff {
    pub(super) fn new(pause_max: Duration, now: Instant) -> Self {
        Self {
            pause_max,
            failures: 0,
            next: now,
        }
    }

    pub(super) fn may_try(&self, now: Instant) -> bool {
        self.failures == 0 || now >= self.next
    }

    /// It is tried now, so others wait for the next time.
    pub(super) fn tries(&mut self, now: Instant) {
        if self.failures > 0 {
            self.pause(now);
        }
    }

    pub(super) fn works(&mut self) {
        self.failures = 0;
    }

    /// Of many that fail at once, as of one.
    pub(super) fn fails(&mut self, now: Instant) {
        if self.failures == 0 {
            self.pause(now);
        }
    }

    fn pause(&mut self, now: Instant) {
        let pause = PAUSE_MIN.saturating_mul(1 << self.failures.min(16));
        self.failures += 1;
        self.next = now + pause.min(self.pause_max);
    }
}

/// A log that witnesses are asked about.
#[derive(Debug)]
pub(super) struct LogTurn {
    /// How many leaves its newest checkpoint has, as far as we know.
    pub(super) size: u64,
    pub(super) is_being_asked: bool,
    not_before: Instant,
    changed_at: Instant,
    /// One for each witness, in their order.
    pub(super) pairs: Vec<Pair>,
}

/// A log and a witness.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// Whether the witness has cosigned the newest checkpoint.
    pub(super) is_done: bool,
    pub(super) backoff: Backoff,
    /// Since when a checkpoint waits for it.
    pub(super) waits_since: Option<Timestamp>,
}

impl LogTurn {
    pub(super) fn new(size: u64, witnesses: usize, now: Instant) -> Self {
        let pair = Pair {
            is_done: false,
            backoff: Backoff::new(LOG_PAUSE_MAX, now),
            waits_since: None,
        };
        Self {
            size,
            is_being_asked: false,
            not_before: now,
            changed_at: now,
            pairs: vec![pair; witnesses],
        }
    }

    /// Its newest checkpoint has so many leaves.
    pub(super) fn grows_to(&mut self, size: u64, at: Timestamp, now: Instant) {
        if size <= self.size {
            return;
        }
        self.size = size;
        self.changed_at = now;
        for pair in &mut self.pairs {
            pair.is_done = false;
            pair.waits_since.get_or_insert(at);
        }
    }

    /// Since when it could have been asked, if it is its turn.
    pub(super) fn is_due_since(&self, witnesses: &[Backoff], now: Instant) -> Option<Instant> {
        let can_ask = |(pair, witness): (&Pair, &Backoff)| {
            !pair.is_done && pair.backoff.may_try(now) && witness.may_try(now)
        };
        let is_due = !self.is_being_asked
            && now >= self.not_before
            && self.pairs.iter().zip(witnesses).any(can_ask);
        is_due.then_some(self.not_before)
    }

    /// A round begins for it. If nobody is asked, because others were faster, it stays before them in the line: or one log that a
    /// witness fails at would have every try.
    pub(super) fn begins(&mut self, now: Instant, is_asked: bool) {
        self.is_being_asked = true;
        self.changed_at = now;
        if is_asked {
            self.not_before = now + LOG_EVERY;
        }
    }

    /// Whether nothing is left to do, and nothing happened for so long.
    pub(super) fn is_over(&self, idle: Duration, now: Instant) -> bool {
        !self.is_being_asked
            && self.pairs.iter().all(|pair| pair.is_done)
            && now > self.changed_at + idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_that_is_away_is_tried_by_one_at_a_time_and_ever_less_often() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut backoff = Backoff::new(WITNESS_PAUSE_MAX, start);
        assert!(backoff.may_try(start));
        // All who asked at once fail, and that counts once.
        (0..64).for_each(|_| backoff.fails(start));
        let mut tried = Vec::new();
        for second in 0..60 {
            if backoff.may_try(at(second)) {
                backoff.tries(at(second));
                assert!(!backoff.may_try(at(second)), "the next waits");
                backoff.fails(at(second));
                tried.push(second);
            }
        }
        assert_eq!(tried, [1, 3, 7, 15, 25, 35, 45, 55]);
        backoff.works();
        assert!(backoff.may_try(at(60)));
    }

    #[test]
    fn a_log_is_asked_about_once_a_second_and_when_it_has_grown() {
        let start = Instant::now();
        let witnesses = [Backoff::new(WITNESS_PAUSE_MAX, start)];
        let mut turn = LogTurn::new(7, 1, start);
        assert!(turn.is_due_since(&witnesses, start).is_some());
        turn.begins(start, true);
        turn.is_being_asked = false;
        assert!(turn.is_due_since(&witnesses, start).is_none());
        assert!(turn.is_due_since(&witnesses, start + LOG_EVERY).is_some());
        turn.pairs[0].is_done = true;
        let later = start + LOG_EVERY * 10;
        assert!(turn.is_due_since(&witnesses, later).is_none());
        assert!(turn.is_over(LOG_EVERY, later));
        turn.grows_to(8, Timestamp::MIN, later);
        assert!(turn.is_due_since(&witnesses, later).is_some());
        assert!(!turn.is_over(LOG_EVERY, later + LOG_EVERY * 2));
    }
}
