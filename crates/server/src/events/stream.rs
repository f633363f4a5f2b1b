//! `GET /v1/audit/events/stream`: events as they are accepted, until the client, the key or we go.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use futures::stream;
use tokio::time::{Instant, sleep_until};

use crate::{
    edge::{
        Caller, Problem,
        caller::EventsRead,
        problem::Refusals,
        standing::{ASK_EVERY, Standing},
    },
    events::{
        sse,
        tail::Watching,
        tail_queue::Told,
        wanted::{FilterParams, TailWanted},
    },
    planes::ControlPlane,
};

/// A quiet stream says that it is alive; proxies close one that says nothing for 30 s or more.
pub const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Streams audit events as they are accepted, by the filters of the list.
///
/// Server-sent events: `ready` first (what is accepted after it will be seen), then an `event` for each
/// audit event, and `skipped` with a number where a client that reads too slowly misses some.
#[utoipa::path(
    get, path = "/v1/audit/events/stream", tag = "events", security(("api_key" = ["events:read"]), ("session" = [])),
    params(FilterParams),
    responses(
        (status = 200, description = "The stream; it ends when the key is revoked or the session is over", content_type = "text/event-stream", body = String),
        Refusals,
    ),
)]
pub async fn stream(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    standing: Standing<EventsRead>,
    TailWanted(filter): TailWanted,
) -> Result<Response, Problem> {
    let watching = plane.tail.watch(caller.org, filter)?;
    let now = Instant::now();
    let streaming = Streaming {
        plane,
        standing,
        watching,
        is_ready: false,
        ask_at: now + ASK_EVERY,
        keep_alive_at: now + KEEP_ALIVE_EVERY,
    };
    let body = stream::unfold(streaming, async |mut streaming| {
        let bytes = streaming.next().await?;
        Some((Ok::<_, Infallible>(bytes), streaming))
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        ("x-accel-buffering", "no"),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

/// A stream under way.
struct Streaming {
    plane: ControlPlane,
    standing: Standing<EventsRead>,
    watching: Watching,
    is_ready: bool,
    ask_at: Instant,
    keep_alive_at: Instant,
}

impl Streaming {
    /// The next bytes, or `None` at the end. A client that does not read does not get here; the listener
    /// lets go of it.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.ask_at <= Instant::now() {
                if !self.standing.still_holds().await {
                    return None;
                }
                self.ask_at = Instant::now() + ASK_EVERY;
            }
            let stopping = self.plane.tail.stopping();
            let bytes = tokio::select! {
                biased;
                () = stopping.cancelled() => return None,
                () = self.watching.ready(), if !self.is_ready => {
                    self.is_ready = true;
                    Bytes::from_static(sse::READY)
                }
                told = self.watching.next(), if self.is_ready => match told? {
                    Told::Event(frame) => frame,
                    Told::Skipped(events) => sse::skipped(events),
                },
                () = sleep_until(self.keep_alive_at) => Bytes::from_static(sse::KEEP_ALIVE),
                () = sleep_until(self.ask_at) => continue,
            };
            self.keep_alive_at = Instant::now() + KEEP_ALIVE_EVERY;
            return Some(bytes);
        }
    }
}
