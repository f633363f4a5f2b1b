//! `POST /v1/audit/export`: the whole trail, as it is read from the database, in constant memory.

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use domain::{EventId, OrgId, error_code::ErrorCode, event::Filter};
use futures::stream;
use journal::streams::Log;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use store::{
    Store,
    events::{EventsWanted, Order},
};
use utoipa::ToSchema;

use crate::{
    edge::{Caller, Problem, caller::EventsExport, problem::ProblemBody, read::Json},
    error_chain::chain,
    planes::ControlPlane,
};

/// Events are at most 32 KiB, so a client that reads slowly holds at most some three megabytes.
const PAGE_EVENTS: u32 = 100;

/// What is exported, and how.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportWanted {
    #[serde(default)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Ndjson,
}

/// Exports audit events, newest first.
///
/// One event in JSON on each line. The last line is not an event: it says how many there are and
/// the SHA-256 of everything before it, so that a file that was cut off is noticed.
#[utoipa::path(
    post, path = "/v1/audit/export", tag = "events",
    security(("api_key" = ["events:export"]), ("session" = [])),
    request_body = ExportWanted,
    responses(
        (status = 200, description = "The events; the last line is `{\"export\":{\"events\":...,\"sha256\":...}}`", content_type = "application/x-ndjson", body = String),
        (status = "4XX", description = "Refused", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The database is down, or behind", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub async fn export(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsExport>,
    Json(wanted): Json<ExportWanted>,
) -> Result<Response, Problem> {
    let Format::Ndjson = wanted.format;
    if !plane.wait_until_fresh(caller.org, Log::Events).await? {
        // A checksum over less than there is would be a lie.
        let detail = "The index is behind the journal, so an export would not be whole. Ask again.";
        return Err(Problem::new(ErrorCode::StoreUnavailable, detail));
    }
    let export = Export {
        store: plane.store,
        org: caller.org,
        written: Sha256::new(),
        events: 0,
        next: Next::First,
    };
    let lines = stream::try_unfold(export, Export::page);
    Ok((
        [(header::CONTENT_TYPE, "application/x-ndjson")],
        Body::from_stream(lines),
    )
        .into_response())
}

/// An export under way.
struct Export {
    store: Store,
    org: OrgId,
    written: Sha256,
    events: u64,
    next: Next,
}

enum Next {
    First,
    Below(EventId),
    LastLine,
    Nothing,
}

impl Export {
    /// The next lines and how to go on. An error ends the connection, and with it the file.
    async fn page(mut self) -> Result<Option<(Bytes, Self)>, store::Error> {
        let before = match self.next {
            Next::First => None,
            Next::Below(id) => Some(id),
            Next::LastLine => {
                let sha256 = hex::encode(self.written.clone().finalize());
                let last = json!({"export": {"events": self.events, "sha256": sha256}});
                self.next = Next::Nothing;
                return Ok(Some((Bytes::from(format!("{last}\n")), self)));
            }
            Next::Nothing => return Ok(None),
        };
        let wanted = EventsWanted {
            filter: Filter::default(),
            order: Order::NewestFirst,
            after: before,
            limit: PAGE_EVENTS,
        };
        let page = self.store.list_events(self.org, &wanted).await;
        let page = page.inspect_err(|error| {
            tracing::warn!(error = chain(error), org.id = %self.org, "an export was cut off");
        })?;
        let mut lines = String::new();
        for event in &page.rows {
            lines.push_str(&event.json);
            lines.push('\n');
        }
        self.events += page.rows.len() as u64;
        self.written.update(&lines);
        self.next = page.next.map_or(Next::LastLine, Next::Below);
        Ok(Some((Bytes::from(lines), self)))
    }
}
