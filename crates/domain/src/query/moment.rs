//! A time as people write it in a query: a day, a minute, a second or a millisecond.

use std::{fmt, time::Duration};

use crate::Timestamp;

/// A stretch of time, as long as what was written is exact: `2026-11-15` is that whole day in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    start: Timestamp,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Day,
    Minute,
    Second,
    Millisecond,
}

impl Moment {
    /// Reads `2026-11-15`, `2026-11-15T09:30Z` or any RFC 3339 date-time.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.is_ascii() {
            return None;
        }
        let (whole, unit) = match text.get(10..).unwrap_or_default() {
            "" => (format!("{text}T00:00:00Z"), Unit::Day),
            time => match (time.get(..6), time.get(6..7)) {
                (Some(minute), Some("Z" | "+" | "-")) if minute.starts_with('T') => {
                    let (start, zone) = text.split_at(16);
                    (format!("{start}:00{zone}"), Unit::Minute)
                }
                _ if time.contains('.') => (text.to_owned(), Unit::Millisecond),
                _ => (text.to_owned(), Unit::Second),
            },
        };
        let start = Timestamp::parse(&whole)?.unix_millis();
        // A leap second is read as the last millisecond before it.
        let start = start - start.rem_euclid(unit.millis());
        Some(Self {
            start: Timestamp::from_unix_millis(start),
            unit,
        })
    }

    /// The first millisecond of it.
    pub fn start(self) -> Timestamp {
        self.start
    }

    /// The first millisecond behind it, as far as a time can say.
    pub fn end(self) -> Timestamp {
        let length = Duration::from_millis(self.unit.millis().unsigned_abs());
        self.start.plus(length).min(Timestamp::MAX)
    }
}

impl Unit {
    fn millis(self) -> i64 {
        match self {
            Self::Day => 24 * 60 * 60 * 1_000,
            Self::Minute => 60 * 1_000,
            Self::Second => 1_000,
            Self::Millisecond => 1,
        }
    }
}

/// In UTC, as exact as it was written.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.start.to_string();
        match self.unit {
            Unit::Day => f.write_str(&whole[..10]),
            Unit::Minute => write!(f, "{}Z", &whole[..16]),
            Unit::Second => write!(f, "{}Z", &whole[..19]),
            Unit::Millisecond => f.write_str(&whole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_as_long_as_it_is_exact() {
        for (text, printed, end) in [
            ("2026-11-15", "2026-11-15", "2026-11-16T00:00:00.000Z"),
            (
                "2026-11-15T09:30Z",
                "2026-11-15T09:30Z",
                "2026-11-15T09:31:00.000Z",
            ),
            (
                "2026-11-15T09:30+02:00",
                "2026-11-15T07:30Z",
                "2026-11-15T07:31:00.000Z",
            ),
            (
                "2026-11-15T09:30:07Z",
                "2026-11-15T09:30:07Z",
                "2026-11-15T09:30:08.000Z",
            ),
            (
                "2026-11-15T09:30:07.1259Z",
                "2026-11-15T09:30:07.125Z",
                "2026-11-15T09:30:07.126Z",
            ),
        ] {
            let moment = Moment::parse(text).expect(text);
            assert_eq!(moment.to_string(), printed);
            assert_eq!(moment.end().to_string(), end, "{text}");
            assert_eq!(Moment::parse(printed), Some(moment));
        }
    }

    #[test]
    fn what_has_no_zone_or_is_no_time_is_not_read() {
        for text in [
            "",
            "2026",
            "2026-11",
            "2026-13-01",
            "2026-11-15T09:30",
            "2026-11-15T09:30:00",
            "2026-11-15T09Z",
            "15.11.2026",
            "24h",
            "2026-11-1é",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}
