//! How many events there were with each value of a field, in each minute, hour and day: added up by the
//! indexer as it writes them ([`tally`]), read for charts ([`read`]) and by the list, which looks only
//! where there are some.

mod read;
mod tally;

use std::time::Duration;

pub use read::{Counts, CountsQuery, TypeCounts};
pub(crate) use tally::Tally;

/// How long minutes are kept; hours and days are kept as long as events. A week of minutes is what a
/// chart shows at that grain, and all of them would be most of the table.
pub const MINUTES_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// What events are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CountedBy {
    EventType,
    Result,
    AgentId,
    Action,
    Severity,
}

/// How long a bucket is; it starts with a UTC minute, hour or day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grain {
    Minute,
    Hour,
    Day,
}

impl CountedBy {
    pub const ALL: [Self; 5] = [
        Self::EventType,
        Self::Result,
        Self::AgentId,
        Self::Action,
        Self::Severity,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::EventType => "event_type",
            Self::Result => "result",
            Self::AgentId => "agent_id",
            Self::Action => "action",
            Self::Severity => "severity",
        }
    }
}

impl Grain {
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    pub fn millis(self) -> i64 {
        match self {
            Self::Minute => 60_000,
            Self::Hour => 60 * 60_000,
            Self::Day => 24 * 60 * 60_000,
        }
    }

    /// When the bucket begins that `millis` falls into.
    pub fn bucket(self, millis: i64) -> i64 {
        millis - millis.rem_euclid(self.millis())
    }
}
