//! Which time a chart shows: whole minutes, hours or days of UTC, not too many of them.

use std::time::Duration;

use domain::Timestamp;
use store::events::{Grain, MINUTES_KEPT};

use crate::edge::Problem;

/// More would not fit a screen; a chart of 33 hours by minute, or 83 days by hour.
const BUCKETS_MAX: i64 = 2_000;

/// Intervals, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct StatsRange {
    pub grain: Grain,
    /// The start of the first one.
    pub from: Timestamp,
    /// The end of the last one.
    pub to: Timestamp,
}

impl StatsRange {
    /// Reads the parameters `interval`, `from` and `to`.
    pub fn read([interval, from, to]: [Option<&str>; 3], now: Timestamp) -> Result<Self, Problem> {
        let grain = one_of("interval", interval, &Grain::ALL, Grain::as_str)?;
        let grain = grain.unwrap_or(Grain::Hour);
        let to = moment("to", to)?.unwrap_or(now);
        let from = moment("from", from)?.unwrap_or(to.minus(usual(grain)));
        let from = start_of(grain, from);
        // The interval that `to` is in is whole, unless `to` is its start.
        let to = start_of(
            grain,
            to.plus(Duration::from_millis(grain.millis().unsigned_abs() - 1)),
        );
        if to > Timestamp::MAX {
            let detail = "The interval that contains `to` ends after the year 9999.";
            return Err(Problem::parameter("to", detail));
        }
        let buckets = (to.unix_millis() - from.unix_millis()) / grain.millis();
        if buckets < 1 {
            return Err(Problem::parameter("to", "`to` must be after `from`."));
        }
        if buckets > BUCKETS_MAX {
            let detail = format!(
                "That is {buckets} intervals, and at most {BUCKETS_MAX} can be returned; ask for a shorter time or a \
                 longer `interval`."
            );
            return Err(Problem::parameter("from", detail));
        }
        if grain == Grain::Minute && now.since(from) > MINUTES_KEPT {
            let detail = "Counts by minute are kept for 7 days; ask for `interval=hour`.";
            return Err(Problem::parameter("from", detail));
        }
        Ok(Self { grain, from, to })
    }

    /// When each interval begins, oldest first.
    pub fn starts(self) -> impl Iterator<Item = Timestamp> {
        let step = usize::try_from(self.grain.millis()).unwrap_or(usize::MAX);
        let starts = (self.from.unix_millis()..self.to.unix_millis()).step_by(step);
        starts.map(Timestamp::from_unix_millis)
    }

    /// When the interval begins that a time is in.
    pub fn start_of(self, at: Timestamp) -> Timestamp {
        start_of(self.grain, at)
    }
}

/// The problem of counts that are too many to add up.
pub fn too_many_values() -> Problem {
    let detail = "There are too many different values to add up over this time; ask for a shorter time or a longer \
                  interval.";
    Problem::parameter("from", detail)
}

/// Reads a parameter that has one of a few values.
pub fn one_of<T: Copy>(
    name: &str,
    text: Option<&str>,
    all: &[T],
    called: impl Fn(T) -> &'static str,
) -> Result<Option<T>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let found = all.iter().copied().find(|one| called(*one) == text);
    found.map(Some).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|one| called(*one)).collect();
        let detail = format!("`{name}` must be one of {}.", known.join(", "));
        Problem::parameter(name, detail)
    })
}

/// How much is shown when nobody says.
fn usual(grain: Grain) -> Duration {
    Duration::from_secs(match grain {
        Grain::Minute => 3600,
        Grain::Hour => 24 * 3600,
        Grain::Day => 30 * 24 * 3600,
    })
}

fn start_of(grain: Grain, at: Timestamp) -> Timestamp {
    Timestamp::from_unix_millis(grain.bucket(at.unix_millis()))
}

fn moment(name: &str, text: Option<&str>) -> Result<Option<Timestamp>, Problem> {
    let Some(text) = text else { return Ok(None) };
    let at = Timestamp::parse(text).filter(|at| at.unix_millis() >= 0);
    at.map(Some).ok_or_else(|| {
        let detail =
            format!("`{name}` must be an RFC 3339 date-time such as 2026-11-15T09:30:00.000Z.");
        Problem::parameter(name, detail)
    })
}
