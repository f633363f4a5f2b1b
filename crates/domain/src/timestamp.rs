//! A moment, to the millisecond: our one time type, written as RFC 3339 UTC with three digits.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The first and the last that four digits of a year can write.
    pub const MIN: Self = Self(-62_167_219_200_000);
    pub const MAX: Self = Self(253_402_300_799_999);

    pub const fn from_unix_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn unix_millis(self) -> i64 {
        self.0
    }

    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Any RFC 3339 date-time whose year has four digits in UTC too; finer fractions than a millisecond
    /// are cut.
    pub fn parse(text: &str) -> Option<Self> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(moment.unix_timestamp_nanos().div_euclid(1_000_000))
            .ok()
            .map(Self)
            .filter(|at| (Self::MIN..=Self::MAX).contains(at))
    }

    pub fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    pub fn minus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// A time's text, on the stack: every event is given one.
#[derive(Clone, Copy)]
pub struct TimeText([u8; 24]);

impl TimeText {
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits and marks are ASCII")
    }
}

impl Timestamp {
    /// `2026-11-15T09:30:00.125Z`: always 24 characters, so texts sort as their times. The digits are written without the
    /// machinery of formatting. A time beyond what 24 characters can say is written as the last that they can: writing
    /// never fails.
    pub fn text(self) -> TimeText {
        let within = self.clamp(Self::MIN, Self::MAX);
        let moment = OffsetDateTime::from_unix_timestamp(within.unix_seconds())
            .expect("four digits of a year can say it");
        let millis = within.0.rem_euclid(1_000);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let fields = [
            (0..4, moment.year()),
            (5..7, i32::from(u8::from(moment.month()))),
            (8..10, i32::from(moment.day())),
            (11..13, i32::from(moment.hour())),
            (14..16, i32::from(moment.minute())),
            (17..19, i32::from(moment.second())),
            (20..23, i32::try_from(millis).expect("less than a thousand")),
        ];
        for (places, value) in fields {
            let mut value = value.unsigned_abs();
            for digit in text[places].iter_mut().rev() {
                *digit = b"0123456789"[(value % 10) as usize];
                value /= 10;
            }
        }
        TimeText(text)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_i64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            Self::parse(&text).ok_or_else(|| de::Error::custom("expected an RFC 3339 date-time"))
        } else {
            i64::deserialize(deserializer).map(Self)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_reads_back_as_written(millis in 0i64..253_402_300_800_000) {
            let at = Timestamp::from_unix_millis(millis);
            prop_assert_eq!(at.to_string().len(), 24);
            prop_assert_eq!(Timestamp::parse(&at.to_string()), Some(at));
        }
    }

    #[test]
    fn offsets_are_understood_and_written_as_utc() {
        let at = Timestamp::parse("2026-11-15T11:30:00.1259+02:00");
        assert_eq!(
            at.map(|at| at.to_string()).as_deref(),
            Some("2026-11-15T09:30:00.125Z")
        );
    }

    #[test]
    fn what_four_digits_of_a_year_cannot_say_is_not_read_and_can_still_be_written() {
        for text in ["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
        let first = "0000-01-01T00:00:00.000Z";
        let last = "9999-12-31T23:59:59.999Z";
        assert_eq!(Timestamp::parse(first), Some(Timestamp::MIN));
        assert_eq!(Timestamp::parse(last), Some(Timestamp::MAX));
        assert_eq!(Timestamp(i64::MIN).to_string(), first);
        assert_eq!(Timestamp(i64::MAX).to_string(), last);
    }
}
