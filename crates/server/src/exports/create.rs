//! `POST /v1/audit/export`: what it takes before the first byte.

use axum::{extract::State, response::Response};
use domain::{
    EventId, ExportId, OrgId,
    account::Scope,
    error_code::ErrorCode,
    event::{Filter, Source, accept::Arrival, reserved::EXPORT},
};
use journal::{
    streams::Log,
    system_events::{Unrecorded, record},
};
use runtime::error_chain::chain;
use serde::Serialize;

use super::{
    bundle,
    format::FileFormat,
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
///
/// The format `bundle` is a file that proves itself, offline and to somebody who trusts nobody here: your organization's
/// transparency log up to its newest checkpoint, in the log's order, with every event and delivery attempt that it commits
/// to. What the filter does not ask for is there as a bare hash, so nothing can be left out unseen.
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
    if wanted.format == FileFormat::Bundle {
        check_bundle(&plane, &caller).await?;
    }
    if wanted.in_background {
        return jobs::create(&plane, &caller, &wanted).await;
    }
    let slot = plane.exports.take(caller.org)?;
    let mut plan = plan(&plane, caller.org, &wanted).await?;
    if wanted.format == FileFormat::Bundle {
        plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
        let partitions = plane.journal.partitions();
        let caught_up = bundle::caught_up(&plane.store, partitions, caller.org).await;
        caught_up.map_err(|error| unproven(&error))?;
    }
    plan.without = Some(note(&plane, &caller, &wanted, None).await?);
    stream::answer(&plane, plan, &wanted, standing, slot).await
}

/// Whether there is a log to export, and the caller may see all that is in it.
async fn check_bundle(plane: &ControlPlane, caller: &Caller<EventsExport>) -> Result<(), Problem> {
    caller.also_needs(&[Scope::DeliveriesRead, Scope::PoliciesRead])?;
    if plane.files.is_none() {
        let detail = "This server keeps no transparency log, so there is nothing to prove an export with: the operator \
                      has to set `files.url` and `secrets.key`.";
        return Err(Problem::new(ErrorCode::NotConfigured, detail));
    }
    if let Some(reason) = bundle::is_stopped(&plane.store, caller.org).await? {
        let detail = format!(
            "Your organization's transparency log has stopped, so an export would not have what is new: {reason}. Only the \
             operator can look into it; exports of other formats work."
        );
        return Err(Problem::new(ErrorCode::StoreUnavailable, detail));
    }
    Ok(())
}

/// What the client is told if a file that proves itself cannot be begun.
pub(super) fn unproven(error: &bundle::Error) -> Problem {
    tracing::warn!(
        error = chain(error),
        "could not begin an export that proves itself"
    );
    let detail = match error {
        bundle::Error::NoCheckpoint => {
            "Your organization's transparency log has no checkpoint yet. One is signed about a second after the first event; \
             try again."
        }
        bundle::Error::Behind => {
            "The transparency log is behind the trail, so an export would be incomplete. Try again."
        }
        _ => "The transparency log cannot be read right now. Try again.",
    };
    Problem::new(ErrorCode::StoreUnavailable, detail)
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
