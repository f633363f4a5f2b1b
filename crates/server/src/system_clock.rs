//! The real clocks: everything else is handed them.
//!
//! [`SYSTEM`] is this machine's: what we sign and put on record goes by it. [`JOURNAL`] is for what the journal hands out at
//! a time and for what matchers and workers on several machines share, so that one whose clock is wrong neither skips a wait nor makes
//! others wait. It is the machine's while that agrees with NATS's, which is read now and then (`clock_watch.rs`), and was read
//! at all. Between two readings it goes on by what measures durations, so a jump of the machine's clock does no harm. That
//! stands still while a machine is suspended; after that it is behind until the next reading.

use std::{
    sync::{PoisonError, RwLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use domain::{Timestamp, clock::Clock};
use journal::clock::Reading;
use tokio::time::Instant;

pub(crate) const SYSTEM: Clock = Clock::new(now);
pub(crate) const JOURNAL: Clock = Clock::new(journal_now);

/// Clocks that differ by less agree: those of machines with NTP do, and a reading is half a second off at most.
pub(crate) const AGREE_WITHIN: Duration = Duration::from_secs(2);
/// A reading that took longer says too little.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// The last that was good.
static READING: RwLock<Option<Reading>> = RwLock::new(None);

/// Takes note of what the journal's clock said. By how many milliseconds this machine's is ahead of it; `None` if it took too
/// long to say.
pub(crate) fn note(reading: Reading) -> Option<i64> {
    if reading.answered - reading.asked > READ_WITHIN {
        return None;
    }
    *READING.write().unwrap_or_else(PoisonError::into_inner) = Some(reading);
    Some(ahead_ms(now(), at(reading, Instant::now())))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the clock"
)]
fn now() -> Timestamp {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_unix_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

fn journal_now() -> Timestamp {
    let reading = *READING.read().unwrap_or_else(PoisonError::into_inner);
    reading.map_or_else(now, |reading| agreed(now(), at(reading, Instant::now())))
}

/// What the journal's clock says at a moment after it was read.
fn at(reading: Reading, moment: Instant) -> Timestamp {
    // The answer may have been on its way for most of the time, or the question.
    let read = reading.asked + (reading.answered - reading.asked) / 2;
    reading.time.plus(moment.saturating_duration_since(read))
}

fn agreed(machine: Timestamp, journal: Timestamp) -> Timestamp {
    let apart = Duration::from_millis(ahead_ms(machine, journal).unsigned_abs());
    if apart < AGREE_WITHIN {
        machine
    } else {
        journal
    }
}

fn ahead_ms(machine: Timestamp, journal: Timestamp) -> i64 {
    let (machine, journal) = (machine.unix_millis(), journal.unix_millis());
    machine.saturating_sub(journal)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ_AT: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);
    const HOUR: Duration = Duration::from_hours(1);

    fn reading(took: Duration) -> Reading {
        let asked = Instant::now();
        Reading {
            time: READ_AT,
            asked,
            answered: asked + took,
        }
    }

    #[test]
    fn the_journals_clock_goes_on_from_the_middle_of_its_reading() {
        let reading = reading(Duration::from_millis(800));
        let later = |millis| reading.asked + Duration::from_millis(millis);
        let expected = |millis| READ_AT.plus(Duration::from_millis(millis));
        assert_eq!(at(reading, later(400)), expected(0));
        assert_eq!(at(reading, reading.answered), expected(400));
        assert_eq!(at(reading, later(10_400)), expected(10_000));
        assert_eq!(at(reading, reading.asked), expected(0), "never back");
    }

    #[test]
    fn the_machines_clock_counts_while_it_agrees_and_the_journals_when_it_does_not() {
        let millis = Duration::from_millis;
        for (apart, agrees) in [(0, true), (1_999, true), (2_000, false), (3_600_000, false)] {
            for machine in [READ_AT.plus(millis(apart)), READ_AT.minus(millis(apart))] {
                let expected = if agrees { machine } else { READ_AT };
                assert_eq!(agreed(machine, READ_AT), expected, "{apart} ms");
            }
        }
    }

    #[test]
    fn a_clock_that_is_behind_is_ahead_by_less_than_nothing() {
        assert_eq!(ahead_ms(READ_AT.plus(HOUR), READ_AT), 3_600_000);
        assert_eq!(ahead_ms(READ_AT.minus(HOUR), READ_AT), -3_600_000);
    }

    #[test]
    fn a_reading_that_took_long_is_not_believed() {
        assert_eq!(note(reading(READ_WITHIN + Duration::from_millis(1))), None);
        let no_reading = READING.read().expect("whole").is_none();
        assert!(no_reading, "the machine's clock counts until there is one");
        assert!(journal_now() >= now().minus(AGREE_WITHIN));
    }
}
