//! `POST /v1/audit/export`: what it takes before the first byte.

use axum::{extract::State, response::Response};
use domain::{
    EventId, ExportId, OrgId,
    error_code::ErrorCode,
    event::{Filter, Source, accept::Arrival, reserved::EXPORT},
};
use journal::{
    own::{Unrecorded, record},
    streams::Log,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    jobs::{self, ExportBody},
    plan::Plan,
    request::{Wanted, WantedBody},
    stream,
};
use crate::{
    edge::{
        Caller, Problem, caller::EventsExport, problem::ProblemBody, read::Json, standing::Standing,
    },
    planes::ControlPlane,
};

/// The audit event that an export is.
#[derive(Serialize)]
struct ExportEvent<'a> {
    event_type: &'static str,
    agent_id: &'a str,
    action: &'static str,
    result: &'static str,
    metadata: ExportMetadata<'a>,
}

#[derive(Serialize)]
struct ExportMetadata<'a> {
    format: &'static str,
    compression: &'static str,
    filter: &'a Filter,
    #[serde(skip_serializing_if = "Option::is_none")]
    export_id: Option<ExportId>,
}

/// Exports audit events, newest first.
///
/// The answer is a file that is sent as it is read. It has every event that was accepted before and that
/// the filter asks for, once; what is accepted meanwhile may be in it or not. That it was asked for is an
/// event itself (`event_type` `export`), which is not in it.
///
/// The end of the file proves that it is whole: the last line of NDJSON and the end of JSON say how many
/// events there are and the SHA-256 of what is before; Parquet has its footer, gzip and zstd their
/// checksums. With `TE: trailers` the trailers `watchbell-export-events` and `watchbell-export-sha256`
/// follow, the latter of all bytes of the file as sent. A file that is cut off ends with a broken
/// connection.
#[utoipa::path(
    post, path = "/v1/audit/export", tag = "exports",
    security(("api_key" = ["events:export"]), ("session" = [])),
    request_body = WantedBody,
    responses(
        (status = 200, description = "The file", content(
            (String = "application/x-ndjson"), (Object = "application/json"), (String = "text/csv"),
            (String = "application/vnd.apache.parquet"), (String = "application/gzip"), (String = "application/zstd"),
        )),
        (status = 202, description = "It is made in the background (`async`); `Location` says where to look", body = ExportBody),
        (status = "4XX", description = "Refused", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "The database is down or behind, or this node sends too many exports", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub async fn export(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsExport>,
    standing: Standing<EventsExport>,
    Json(body): Json<Map<String, Value>>,
) -> Result<Response, Problem> {
    let wanted = Wanted::read(body)?;
    if wanted.in_background {
        return jobs::create(&plane, &caller, &wanted).await;
    }
    let slot = plane.exports.take(caller.org)?;
    let mut plan = plan(&plane, caller.org, &wanted).await?;
    plan.without = Some(note(&plane, &caller, &wanted, None).await?);
    stream::answer(&plane, plan, &wanted, standing, slot)
}

/// What the export will have: all that was accepted until now.
pub(super) async fn plan(
    plane: &ControlPlane,
    org: OrgId,
    wanted: &Wanted,
) -> Result<Plan, Problem> {
    if !plane.wait_until_fresh(org, Log::Events).await? {
        // A checksum over less than there is would be a lie.
        let detail = "The index is behind the journal, so an export would not be whole. Ask again.";
        return Err(Problem::new(ErrorCode::StoreUnavailable, detail));
    }
    Ok(Plan::make(&plane.store, org, wanted.filter.clone()).await?)
}

/// Records that the export was asked for, and by whom.
pub(super) async fn note(
    plane: &ControlPlane,
    caller: &Caller<EventsExport>,
    wanted: &Wanted,
    export_id: Option<ExportId>,
) -> Result<EventId, Problem> {
    let event = ExportEvent {
        event_type: EXPORT,
        agent_id: &caller.identity.counted_as(),
        action: "audit.export",
        result: "success",
        metadata: ExportMetadata {
            format: wanted.format.as_str(),
            compression: wanted.compression.as_str(),
            filter: &wanted.filter,
            export_id,
        },
    };
    let arrival = Arrival {
        org: caller.org,
        source: Source::Server,
        received_at: plane.clock.now(),
        retention: plane.retention,
    };
    let noted = record(&plane.events, &arrival, &event).await;
    noted.map_err(|unrecorded| match unrecorded {
        Unrecorded::Journal(error) => error.into(),
        // A filter with very many long values is more than the metadata of an event may be.
        Unrecorded::Invalid(fault) => {
            let detail = format!("This filter is too large to be recorded: {}", fault.detail);
            Problem::new(ErrorCode::InvalidBody, detail)
        }
    })
}
