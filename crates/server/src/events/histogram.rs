//! The bars above the list of events.

use std::collections::BTreeMap;

use domain::Timestamp;
use serde::Serialize;
use store::events::Bar;
use utoipa::ToSchema;

/// How many of them there were over time.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Histogram {
    /// The length of each interval, chosen by the length of the time.
    interval_ms: i64,
    /// Oldest first, at most 120, over the whole time. Intervals without events are included.
    buckets: Vec<FacetBucket>,
}

/// One interval.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FacetBucket {
    /// When it starts.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// 0 for intervals before `counted_from`, which were not counted.
    total: u64,
    /// Counts by result, for the results listed in `fields`.
    counts: BTreeMap<String, u64>,
}

impl Histogram {
    pub(super) fn new(interval_ms: i64, bars: Vec<Bar>) -> Self {
        let bucket = |bar: Bar| FacetBucket {
            at: bar.at,
            total: bar.total,
            counts: bar.by_result,
        };
        Self {
            interval_ms,
            buckets: bars.into_iter().map(bucket).collect(),
        }
    }
}
