//! A day of the trail, in UTC: what events are partitioned and archived by.

use std::fmt;

use crate::{EventId, Timestamp};

const MILLIS: i64 = 24 * 3600 * 1000;

/// Days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(i64);

impl Day {
    pub const fn of(at: Timestamp) -> Self {
        Self(at.unix_millis().div_euclid(MILLIS))
    }

    pub const fn from_number(days_since_1970: i64) -> Self {
        Self(days_since_1970)
    }

    pub const fn number(self) -> i64 {
        self.0
    }

    pub const fn start(self) -> Timestamp {
        Timestamp::from_unix_millis(self.0 * MILLIS)
    }

    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// No event of the day has a smaller id, and none of the day before has so large a one.
    pub fn first_id(self) -> EventId {
        EventId::first_at(self.start())
    }
}

/// `2026-11-15`.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.start().to_string()[..10])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_holds_its_events_and_reads_as_its_date() {
        let at = Timestamp::from_unix_millis(1_763_200_000_123);
        let day = Day::of(at);
        assert_eq!(day.to_string(), "2025-11-15");
        let id = EventId::new(at, [3; 10]);
        assert!(day.first_id() <= id && id < day.next().first_id());
    }
}
