//! `GET /v1/audit/events/stream`: events as they are accepted, until the client, the key or we go.

use std::ops::Deref;

use axum::{body::Bytes, extract::State, response::Response};

use super::{
    query::{FilterParams, TailQuery},
    tail::{Tail, Watching},
    tail_queue::TailItem,
};
use crate::{
    edge::{Caller, Problem, caller::EventsRead, recheck_auth::AuthRecheck, sse},
    planes::{ControlPlane, Part},
};

/// What those who watch events may touch.
#[derive(Clone)]
pub struct Live {
    pub plane: ControlPlane,
    pub tail: Tail,
}

impl Part for Live {}

impl Deref for Live {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        &self.plane
    }
}

/// Streams audit events as they are accepted, with the same filters as the list.
///
/// Server-sent events: `ready` first (every event accepted after it is streamed), then an `event` for each audit event,
/// and `skipped` with a number where a client that reads too slowly misses some.
#[utoipa::path(
    get, path = "/v1/audit/events/stream", tag = "events", security(("api_key" = ["events:read"]), ("session" = [])),
    params(FilterParams),
    responses(
        (status = 200, description = "The stream; it ends when the key is revoked or the session ends", content_type = "text/event-stream", body = String),
    ),
)]
pub async fn stream(
    State(live): State<Live>,
    caller: Caller<EventsRead>,
    standing: AuthRecheck<EventsRead>,
    TailQuery(filter): TailQuery,
) -> Result<Response, Problem> {
    let watching = live.tail.watch(caller.org, filter)?;
    let source = Watched {
        watching,
        is_ready: false,
    };
    Ok(sse::streamed(source, standing, live.stopping.clone()))
}

/// What is told: that we listen, then what we hear.
struct Watched {
    watching: Watching,
    is_ready: bool,
}

impl sse::Source for Watched {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.is_ready {
            self.watching.ready().await;
            self.is_ready = true;
            return Some(Bytes::from_static(sse::READY));
        }
        Some(match self.watching.next().await? {
            TailItem::Event(frame) => frame,
            TailItem::Skipped(events) => sse::skipped(events),
        })
    }
}
