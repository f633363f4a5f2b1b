//! `GET /v1/audit/facets`: what the newest events have in common, so that people see what to filter by.

use std::collections::HashMap;

use axum::{Json, extract::State};
use domain::Timestamp;
use journal::streams::Log;
use serde::Serialize;
use store::events::{EventFields, Newest};
use utoipa::ToSchema;

use super::histogram::Histogram;
use crate::{
    edge::{Caller, Problem, caller::EventsRead},
    events::query::{FilterParams, TailQuery},
    planes::ControlPlane,
};

/// How many values of a field are told: what one looks through without searching.
const VALUES_MAX: usize = 20;
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
    pub(super) value: String,
    pub(super) count: usize,
}

/// Counts the values that the newest events matching the filters have.
///
/// For choosing filters: it looks at no more than the newest 20,000 events, and `complete` says whether those were all.
/// For counts of all events over time, use `GET /v1/audit/stats`.
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
        let results: Vec<&str> = fields.result.iter().map(|one| one.value.as_str()).collect();
        Self {
            counted: events.len(),
            complete: newest.is_complete,
            from: events.last().map(|event| event.id.time()),
            to: events.first().map(|event| event.id.time()),
            histogram: Histogram::new(events, &results),
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
