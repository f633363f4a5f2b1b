//! `POST /v1/audit/export`: what it takes before the first byte.

use axum::{extract::State, response::Response};
use domain::{
    EventId, ExportId, OrgId,
    error_code::ErrorCode,
    event::{Filter, Source, accept::Arrival, reserved::EXPORT},
};
use journal::{
    streams::Log,
    system_events::{Unrecorded, record},
};
use serde::Serialize;

use super::{
    jobs::{self, ExportBody},
    plan::Plan,
    request::{ExportRequest, NewExport},
    stream,
};
use crate::{
    edge::{
        Caller, Problem,
        caller::EventsExport,
        extract::{Fields, Json},
        recheck_auth::AuthRecheck,
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
/// The response is a file that is streamed as it is read. It contains every event that was accepted before the request
/// and matches the filter, exactly once; events accepted in the meantime may or may not be included. The request is
/// itself recorded as an event (`event_type` `export`), which is not included.
///
/// The end of the file proves that it is complete: the last line of NDJSON and the end of JSON give the number of
/// events and the SHA-256 of everything before; Parquet has its footer, gzip and zstd their checksums. With `TE:
/// trailers`, the trailers `watchbell-export-events` and `watchbell-export-sha256` follow, the latter covering all
/// bytes of the file as sent. If a file is cut short, the connection is broken off.
#[utoipa::path(
    post, path = "/v1/audit/export", tag = "exports",
    security(("api_key" = ["events:export"]), ("session" = [])),
    request_body = NewExport,
    responses(
        (status = 200, description = "The file", content(
            (String = "application/x-ndjson"), (Object = "application/json"), (String = "text/csv"),
            (String = "application/vnd.apache.parquet"), (String = "application/gzip"), (String = "application/zstd"),
        )),
        (status = 202, description = "The export is being made in the background (`async`); `Location` says where to look", body = ExportBody),
    ),
)]
pub async fn export(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsExport>,
    standing: AuthRecheck<EventsExport>,
    Json(Fields(body)): Json<Fields>,
) -> Result<Response, Problem> {
    let wanted = ExportRequest::read(body)?;
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
    wanted: &ExportRequest,
) -> Result<Plan, Problem> {
    if !plane.wait_until_fresh(org, Log::Events).await? {
        // A checksum over less than there is would be a lie.
        let detail = "The index is behind the journal, so an export would be incomplete. Try \
                      again.";
        return Err(Problem::new(ErrorCode::StoreUnavailable, detail));
    }
    Ok(Plan::make(&plane.store, org, wanted.filter.clone()).await?)
}

/// Records that the export was asked for, and by whom.
pub(super) async fn note(
    plane: &ControlPlane,
    caller: &Caller<EventsExport>,
    wanted: &ExportRequest,
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
