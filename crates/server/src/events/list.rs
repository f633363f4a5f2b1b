//! `GET /v1/audit/events`: what was recorded, newest first, up to the moment of asking.

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use domain::EventId;
use journal::streams::Log;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::{
    edge::{
        Caller, Problem,
        caller::EventsRead,
        problem::{ProblemBody, Refusals},
        read::{IdInPath, PageParams, PageWanted, cursor},
    },
    planes::ControlPlane,
};

/// One page of events.
#[derive(Serialize, ToSchema)]
pub struct EventPage {
    /// The events as they were sent, behind the server's `id`, `received_at`, and `occurred_at` if
    /// none was sent.
    #[schema(value_type = Vec<Object>)]
    data: Vec<Box<RawValue>>,
    /// Ask for the next page with it; null on the last one.
    next_cursor: Option<String>,
    /// False if what was accepted last may be missing, because the index is behind.
    fresh: bool,
}

/// Lists audit events, newest first.
#[utoipa::path(
    get, path = "/v1/audit/events", tag = "events", security(("api_key" = ["events:read"]), ("session" = [])),
    params(PageParams),
    responses(
        (status = 200, description = "One page", body = EventPage),
        (status = "4XX", description = "Refused", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The database is down", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    page: PageWanted<EventId>,
) -> Result<Json<EventPage>, Problem> {
    let fresh = plane.wait_until_fresh(caller.org, Log::Events).await?;
    let page = plane
        .store
        .list_events(caller.org, page.before, page.limit)
        .await?;
    let data = page
        .rows
        .into_iter()
        .filter_map(|event| RawValue::from_string(event.json).ok())
        .collect();
    Ok(Json(EventPage {
        data,
        next_cursor: page.next.as_ref().map(cursor),
        fresh,
    }))
}

/// Shows one audit event.
#[utoipa::path(
    get, path = "/v1/audit/events/{id}", tag = "events", security(("api_key" = ["events:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The event's id")),
    responses(
        (status = 200, description = "The event", body = Object),
        Refusals,
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    IdInPath(id): IdInPath<EventId>,
) -> Result<Response, Problem> {
    plane.wait_until_fresh(caller.org, Log::Events).await?;
    let event = plane
        .store
        .event(caller.org, id)
        .await?
        .ok_or_else(|| Problem::not_found("event"))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], event.json).into_response())
}
