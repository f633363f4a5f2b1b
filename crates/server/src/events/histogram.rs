//! The bars above the list of events: how wide each is, and how many events are in it.

use std::collections::BTreeMap;

use domain::Timestamp;
use serde::Serialize;
use store::events::EventFields;
use utoipa::ToSchema;

/// How many bars a histogram has at most: one of some ten pixels each fits a screen.
const BUCKETS_MAX: i64 = 120;
/// How wide a bar can be, in seconds: what people count in. Beyond the last, so many of it as are needed.
const INTERVALS_S: [i64; 16] = [
    1,
    5,
    10,
    30,
    60,
    5 * 60,
    10 * 60,
    30 * 60,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    7 * DAY,
    28 * DAY,
    364 * DAY,
];
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// How many of them there were over time.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Histogram {
    /// The length of each interval.
    interval_ms: i64,
    /// Oldest first, at most 120. Intervals without events are included.
    buckets: Vec<FacetBucket>,
}

/// One interval.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FacetBucket {
    /// When it starts.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    total: usize,
    /// Counts by result, for the results listed in `fields`.
    counts: BTreeMap<String, usize>,
}

impl Histogram {
    /// Of events in order of time, newest first; counts those with one of these results by it.
    pub(super) fn new(events: &[EventFields], results: &[&str]) -> Self {
        let (Some(newest), Some(oldest)) = (events.first(), events.last()) else {
            return Self {
                interval_ms: INTERVALS_S[0] * 1000,
                buckets: Vec::new(),
            };
        };
        let millis = |event: &EventFields| event.id.time().unix_millis();
        let interval_ms = fitting(millis(oldest), millis(newest));
        let number = |event: &EventFields| millis(event).div_euclid(interval_ms);
        let first = number(oldest);
        let mut buckets: Vec<FacetBucket> = (first..=number(newest))
            .map(|number| FacetBucket {
                at: Timestamp::from_unix_millis(number * interval_ms),
                total: 0,
                counts: BTreeMap::new(),
            })
            .collect();
        for event in events {
            let place = usize::try_from(number(event) - first).ok();
            let Some(bucket) = place.and_then(|place| buckets.get_mut(place)) else {
                continue;
            };
            bucket.total += 1;
            if let Some(count) = bucket.counts.get_mut(&event.result) {
                *count += 1;
            } else if results.contains(&event.result.as_str()) {
                bucket.counts.insert(event.result.clone(), 1);
            }
        }
        Self {
            interval_ms,
            buckets,
        }
    }
}

/// The shortest interval of which not too many reach from one time to another.
fn fitting(from: i64, to: i64) -> i64 {
    let reach = |interval: i64| to.div_euclid(interval) - from.div_euclid(interval) + 1;
    let known = INTERVALS_S.into_iter().map(|seconds| seconds * 1000);
    let longest = known.clone().max().unwrap_or(1000);
    let multiples = (2..).map(|times| longest * times);
    let mut intervals = known.chain(multiples);
    intervals
        .find(|interval| reach(*interval) <= BUCKETS_MAX)
        .unwrap_or(longest)
}

#[cfg(test)]
mod tests {
    use domain::EventId;

    use super::*;

    fn event(millis: i64, result: &str) -> EventFields {
        EventFields {
            id: EventId::new(Timestamp::from_unix_millis(millis), [0; 10]),
            event_type: "tool_call".to_owned(),
            result: result.to_owned(),
            severity: None,
            agent_id: "ag-1".to_owned(),
            action: "files.read".to_owned(),
        }
    }

    #[test]
    fn intervals_are_the_shortest_that_fit() {
        for (from_s, to_s, interval_s) in [
            (0, 0, 1),
            (0, 119, 1),
            (0, 120, 5),
            (1, 600, 10),
            (0, DAY - 1, 30 * 60),
            (7, 30 * DAY - 1, 6 * HOUR),
            (0, 100 * 364 * DAY, 364 * DAY),
            (0, 1000 * 364 * DAY, 9 * 364 * DAY),
        ] {
            assert_eq!(fitting(from_s * 1000, to_s * 1000), interval_s * 1000);
        }
    }

    #[test]
    fn every_event_is_in_the_interval_of_its_time() {
        let newest_first = [
            event(4_200, "denied"),
            event(1_999, "denied"),
            event(1_000, "success"),
        ];
        let histogram = Histogram::new(&newest_first, &["denied"]);
        let totals: Vec<usize> = histogram.buckets.iter().map(|one| one.total).collect();
        assert_eq!(totals, [2, 0, 0, 1]);
        let counts = BTreeMap::from([("denied".to_owned(), 1)]);
        assert_eq!(
            histogram.buckets[0].counts, counts,
            "others are in no counts"
        );
        assert_eq!(histogram.buckets[0].at.unix_millis(), 1_000);
    }
}
