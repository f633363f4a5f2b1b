//! `GET /v1/audit/stats`: how many events there were over time, for charts.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use domain::Timestamp;
use journal::streams::Log;
use serde::Serialize;
use store::events::{CountedBy, Counts, CountsQuery};
use utoipa::ToSchema;

use crate::{
    edge::{
        Caller, Problem,
        caller::EventsRead,
        enums::{EventField, Interval},
        extract,
    },
    events::stats_range::{self, StatsRange, one_of},
    planes::ControlPlane,
};

/// How many values a chart tells apart unless asked otherwise, and at most.
const VALUES_DEFAULT: u32 = 10;
const VALUES_MAX: u32 = 100;

const PARAMETERS: [&str; 5] = ["by", "interval", "from", "to", "limit"];

/// What is counted, and over which time.
#[derive(Debug, Default, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StatsParams {
    /// `event_type` (the default), `result`, `agent_id`, `action` or `severity`.
    #[param(value_type = Option<EventField>)]
    by: Option<String>,
    /// `minute` (kept for 7 days), `hour` (the default) or `day`, in UTC.
    #[param(value_type = Option<Interval>)]
    interval: Option<String>,
    /// RFC 3339; by default an hour, a day or 30 days before `to`, depending on the interval.
    #[param(format = DateTime)]
    from: Option<String>,
    /// RFC 3339; by default now.
    #[param(format = DateTime)]
    to: Option<String>,
    /// How many values to list, those with the most events: 1 to 100 (default 10). The rest are counted as `other`.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100)]
    limit: Option<String>,
}

/// Counts over time. Intervals without events are included.
#[derive(Serialize, ToSchema)]
pub struct Stats {
    #[schema(value_type = EventField)]
    by: &'static str,
    #[schema(value_type = Interval)]
    interval: &'static str,
    /// The start of the first interval.
    #[schema(value_type = String, format = DateTime)]
    from: Timestamp,
    /// The end of the last one.
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    /// Oldest first.
    buckets: Vec<Bucket>,
    /// How many events each value had in total.
    totals: BTreeMap<String, u64>,
    /// How many events had other values, if any; they are included in each `total`, but not in `counts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<u64>,
    /// False if the newest events may be missing because the index is behind.
    fresh: bool,
}

/// One interval.
#[derive(Default, Serialize, ToSchema)]
pub struct Bucket {
    /// When it starts.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    total: u64,
    /// Counts by value, without values that had no events.
    counts: BTreeMap<String, u64>,
}

/// Counts audit events over time, for charts.
///
/// Events are counted by the time they occurred, at the moment they are indexed; a request costs the same however many
/// there are. With `by=severity`, events without a severity are not counted.
#[utoipa::path(
    get, path = "/v1/audit/stats", tag = "events", security(("api_key" = ["events:read"]), ("session" = [])),
    params(StatsParams),
    responses((status = 200, description = "The counts", body = Stats)),
)]
pub async fn stats(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    params: StatsParams,
) -> Result<Json<Stats>, Problem> {
    let wanted = params.checked(plane.clock.now())?;
    let fresh = plane.wait_until_fresh(caller.org, Log::Events).await?;
    let store = plane.store.clone();
    let query = async move { store.event_counts(caller.org, &wanted).await };
    let counts = plane.searches.run(caller.org, query).await?;
    let counts = counts.ok_or_else(stats_range::too_many_values)?;
    Ok(Json(Stats::new(&wanted, counts, fresh)))
}

impl<S: Send + Sync> FromRequestParts<S> for StatsParams {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = Self::default();
        for (name, value) in extract::pairs(parts, state).await? {
            let slot = match name.as_str() {
                "by" => &mut params.by,
                "interval" => &mut params.interval,
                "from" => &mut params.from,
                "to" => &mut params.to,
                "limit" => &mut params.limit,
                _ => return Err(extract::unknown_parameter(&name, &PARAMETERS)),
            };
            extract::once(&name, slot, value)?;
        }
        Ok(params)
    }
}

impl StatsParams {
    fn checked(&self, now: Timestamp) -> Result<CountsQuery, Problem> {
        let by = one_of("by", self.by.as_deref(), &CountedBy::ALL, |one| {
            one.as_str()
        })?;
        let texts = [&self.interval, &self.from, &self.to].map(Option::as_deref);
        let StatsRange { grain, from, to } = StatsRange::read(texts, now)?;
        Ok(CountsQuery {
            by: by.unwrap_or(CountedBy::EventType),
            grain,
            from,
            to,
            values_most: extract::read_limit_up_to(
                VALUES_MAX,
                VALUES_DEFAULT,
                self.limit.as_deref(),
            )?,
        })
    }
}

impl Stats {
    fn new(wanted: &CountsQuery, mut counts: Counts, fresh: bool) -> Self {
        let shown = StatsRange {
            grain: wanted.grain,
            from: wanted.from,
            to: wanted.to,
        };
        let mut totals = BTreeMap::new();
        let mut other = 0;
        let mut buckets = Vec::new();
        for at in shown.starts() {
            let mut bucket = Bucket {
                at,
                ..Bucket::default()
            };
            for (value, events) in counts.remove(&at).unwrap_or_default() {
                bucket.total += events;
                match value {
                    Some(value) => {
                        *totals.entry(value.clone()).or_default() += events;
                        bucket.counts.insert(value, events);
                    }
                    None => other += events,
                }
            }
            buckets.push(bucket);
        }
        Self {
            by: wanted.by.as_str(),
            interval: wanted.grain.as_str(),
            from: wanted.from,
            to: wanted.to,
            buckets,
            totals,
            other: (other > 0).then_some(other),
            fresh,
        }
    }
}
