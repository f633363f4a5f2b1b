//! `GET /v1/audit/events`: what was recorded, by filters, up to the moment of asking.

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use domain::{EventId, Timestamp};
use journal::streams::Log;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::{
    edge::{
        Caller, Problem,
        caller::EventsRead,
        extract::{IdInPath, cursor},
    },
    events::{
        missing::missing,
        query::{EventCursor, FilterParams, ListParams, PageOfEvents},
        schema::Event,
    },
    planes::ControlPlane,
};

/// One page of events.
#[derive(Serialize, ToSchema)]
pub struct EventPage {
    /// The events as they were sent, preceded by the server's `id`, `received_at`, and `occurred_at` if none was sent.
    #[schema(value_type = Vec<Event>)]
    data: Vec<Box<RawValue>>,
    /// Use it to get the next page; null if there are no more.
    next_cursor: Option<String>,
    /// Present only if the page is not full although there may be more: how far back events were searched. Continue
    /// with `next_cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    searched_to: Option<Timestamp>,
    /// False if the newest events may be missing because the index is behind.
    fresh: bool,
}

/// Lists audit events that match the filters, newest first unless `order=asc`.
///
/// Values of one parameter are alternatives; different parameters must all match. A page costs the same however many
/// events there are: a page that finds little among many events may be short or empty, and then has `searched_to`.
#[utoipa::path(
    get, path = "/v1/audit/events", tag = "events", security(("api_key" = ["events:read"]), ("session" = [])),
    params(FilterParams, ListParams),
    responses(
        (status = 200, description = "One page", body = EventPage),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    PageOfEvents(wanted): PageOfEvents,
) -> Result<Json<EventPage>, Problem> {
    let fresh = plane.wait_until_fresh(caller.org, Log::Events).await?;
    let (store, asked) = (plane.store.clone(), wanted.clone());
    let query = async move { store.list_events(caller.org, &asked).await };
    let found = plane.searches.run(caller.org, query).await?;
    let data = found
        .rows
        .into_iter()
        .filter_map(|event| RawValue::from_string(event.json).ok())
        .collect();
    let next = found.next.map(|after| EventCursor::new(&wanted, after));
    Ok(Json(EventPage {
        data,
        next_cursor: next.as_ref().map(cursor),
        searched_to: found.searched_to,
        fresh,
    }))
}

/// Returns one audit event.
#[utoipa::path(
    get, path = "/v1/audit/events/{id}", tag = "events", security(("api_key" = ["events:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The event's id")),
    responses(
        (status = 200, description = "The event", body = Event),
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    IdInPath(id): IdInPath<EventId>,
) -> Result<Response, Problem> {
    let event = plane.event(caller.org, id).await?;
    let Some(event) = event else {
        return Err(missing(&plane, caller.org, id).await);
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], event.json).into_response())
}
