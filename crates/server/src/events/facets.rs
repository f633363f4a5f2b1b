//! `GET /v1/audit/facets`: how many events match, by value and over time, so that people see what to filter by.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use domain::Timestamp;
use journal::streams::Log;
use serde::Serialize;
use store::events::{CountedBy, EventFacets};
use utoipa::ToSchema;

use super::histogram::Histogram;
use crate::{
    edge::{Caller, Problem, caller::EventsRead},
    events::query::{FilterParams, TailQuery},
    planes::ControlPlane,
};

/// How many events match the filters, by value and over time.
#[derive(Serialize, ToSchema)]
pub struct Facets {
    /// How many events were counted: all that match, unless `complete` is false.
    counted: u64,
    /// False if there are so many events to look through that only the newest were counted, those since `counted_from`.
    complete: bool,
    /// False if a number may be too low or too high: because `complete` is false, because a field has too many different
    /// values to count each, or because counting took so long that the minutes or hours in which the time begins and ends
    /// were counted as a whole.
    exact: bool,
    /// About how many events match from `from` to `to`. The same as `counted` if `complete` is true.
    estimate: u64,
    /// The start of the time that the counts are about: `from` of the request, or when the oldest event of all occurred;
    /// null if there is none.
    #[schema(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// Its end: `to` of the request, or now.
    #[schema(value_type = String, format = DateTime)]
    to: Timestamp,
    /// Since when every event was counted: `from`, unless `complete` is false.
    #[schema(value_type = Option<String>, format = DateTime)]
    counted_from: Option<Timestamp>,
    fields: FacetFields,
    histogram: Histogram,
    /// False if the newest events may be missing because the index is behind.
    fresh: bool,
}

/// The values of each field, those with the most events first, at most 20.
#[derive(Serialize, ToSchema)]
pub struct FacetFields {
    event_type: Vec<FacetValue>,
    /// `success`, `denied` and `error` are always included.
    result: Vec<FacetValue>,
    /// For the events that have one. Every severity is included.
    severity: Vec<FacetValue>,
    agent_id: Vec<FacetValue>,
    action: Vec<FacetValue>,
}

/// A value, and how many of the counted events have it.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FacetValue {
    value: String,
    count: u64,
}

/// Counts the events that match the filters, by value and over time.
///
/// The counts are of the whole time: each is the number of events that `GET /v1/audit/events` lists with the same filters
/// and that value. Where that would take too long, only the newest events are counted; `exact` is false then, and
/// `estimate` says about how many there are.
#[utoipa::path(
    get, path = "/v1/audit/facets", tag = "events", security(("api_key" = ["events:read"]), ("session" = [])),
    params(FilterParams),
    responses((status = 200, description = "The counts", body = Facets)),
)]
pub async fn facets(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    TailQuery(filter): TailQuery,
) -> Result<Json<Facets>, Problem> {
    let fresh = plane.wait_until_fresh(caller.org, Log::Events).await?;
    let (store, now) = (plane.store.clone(), plane.clock.now());
    let query = async move { store.event_facets(caller.org, &filter, now).await };
    let counted = plane.searches.run(caller.org, query).await?;
    Ok(Json(Facets::new(counted, fresh)))
}

impl Facets {
    fn new(counted: EventFacets, fresh: bool) -> Self {
        let mut values = counted.values;
        Self {
            counted: counted.counted,
            complete: counted.is_complete,
            exact: counted.is_exact,
            estimate: counted.estimate,
            from: counted.from,
            to: counted.to,
            counted_from: counted.counted_from,
            fields: FacetFields {
                event_type: take(&mut values, CountedBy::EventType),
                result: take(&mut values, CountedBy::Result),
                severity: take(&mut values, CountedBy::Severity),
                agent_id: take(&mut values, CountedBy::AgentId),
                action: take(&mut values, CountedBy::Action),
            },
            histogram: Histogram::new(counted.interval_ms, counted.bars),
            fresh,
        }
    }
}

fn take(values: &mut BTreeMap<CountedBy, Vec<(String, u64)>>, field: CountedBy) -> Vec<FacetValue> {
    let values = values.remove(&field).unwrap_or_default().into_iter();
    let value = |(value, count)| FacetValue { value, count };
    values.map(value).collect()
}
