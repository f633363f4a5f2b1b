//! `GET /v1/audit/facets`: what the newest events have in common, so that people see what to filter by.

use std::collections::{BTreeMap, HashMap};

use axum::{Json, extract::State};
use domain::Timestamp;
use journal::streams::Log;
use serde::Serialize;
use store::events::{EventFields, Newest};
use utoipa::ToSchema;

use crate::{
    edge::{Caller, Problem, caller::EventsRead, problem::Refusals},
    events::query::{FilterParams, TailQuery},
    planes::ControlPlane,
};

/// How many values of a field are told: what one looks through without searching.
const VALUES_MAX: usize = 20;
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

/// The values that the newest events matching the filters have.
#[derive(Serialize, ToSchema)]
pub struct Facets {
    /// How many events were counted.
    counted: usize,
    /// False if older events also match but were not counted.
    complete: bool,
    /// When the oldest of them occurred.
    #[schema(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// When the newest of them occurred.
    #[schema(value_type = Option<String>, format = DateTime)]
    to: Option<Timestamp>,
    fields: FacetFields,
    histogram: Histogram,
    /// False if the newest events may be missing because the index is behind.
    fresh: bool,
}

/// The values of each field, those with the most events first, at most 20.
#[derive(Serialize, ToSchema)]
pub struct FacetFields {
    event_type: Vec<FacetValue>,
    result: Vec<FacetValue>,
    /// For the events that have one.
    severity: Vec<FacetValue>,
    agent_id: Vec<FacetValue>,
    action: Vec<FacetValue>,
}

/// A value, and how many events have it.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FacetValue {
    value: String,
    count: usize,
}

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

/// Counts the values that the newest events matching the filters have.
///
/// For choosing filters: it looks at no more than the newest 20,000 events, and `complete` says whether those were all.
/// For counts of all events over time, use `GET /v1/audit/stats`.
#[utoipa::path(
    get, path = "/v1/audit/facets", tag = "events", security(("api_key" = ["events:read"]), ("session" = [])),
    params(FilterParams),
    responses((status = 200, description = "The counts", body = Facets), Refusals),
)]
pub async fn facets(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    TailQuery(filter): TailQuery,
) -> Result<Json<Facets>, Problem> {
    let fresh = plane.wait_until_fresh(caller.org, Log::Events).await?;
    let store = plane.store.clone();
    let query = async move { store.newest_event_fields(caller.org, filter).await };
    let newest = plane.searches.run(caller.org, query).await?;
    Ok(Json(Facets::new(&newest, fresh)))
}

impl Facets {
    fn new(newest: &Newest<EventFields>, fresh: bool) -> Self {
        let events = newest.events.as_slice();
        let fields = FacetFields {
            event_type: values(events, |event| Some(&event.event_type)),
            result: values(events, |event| Some(&event.result)),
            severity: values(events, |event| event.severity.as_deref()),
            agent_id: values(events, |event| Some(&event.agent_id)),
            action: values(events, |event| Some(&event.action)),
        };
        Self {
            counted: events.len(),
            complete: newest.is_complete,
            from: events.last().map(|event| event.id.time()),
            to: events.first().map(|event| event.id.time()),
            histogram: Histogram::new(events, &fields.result),
            fields,
            fresh,
        }
    }
}

/// The values of a field by how many events have them; of as many, by name.
fn values<'e>(
    events: &'e [EventFields],
    field: impl Fn(&'e EventFields) -> Option<&'e str>,
) -> Vec<FacetValue> {
    let mut counts = HashMap::<&str, usize>::new();
    for value in events.iter().filter_map(field) {
        *counts.entry(value).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_unstable_by(|(a, in_a), (b, in_b)| in_b.cmp(in_a).then(a.cmp(b)));
    counts.truncate(VALUES_MAX);
    let value = |(value, count): (&str, usize)| FacetValue {
        value: value.to_owned(),
        count,
    };
    counts.into_iter().map(value).collect()
}

impl Histogram {
    /// Of events in order of time, newest first.
    fn new(events: &[EventFields], results: &[FacetValue]) -> Self {
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
            } else if results.iter().any(|one| one.value == event.result) {
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
        let results = values(&newest_first, |event| Some(&event.result));
        let histogram = Histogram::new(&newest_first, &results[..1]);
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
