//! `/v1/audit/exports`: exports that are made in the background, and how far each is.

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use domain::{ExportId, Timestamp, error_code::ErrorCode, fault::Fault};
use runtime::{error_chain::chain, random};
use serde::Serialize;
use serde_json::Value;
use store::exports::{ExportRow, NewExport};
use utoipa::ToSchema;

use super::{
    cleanup,
    create::{note, plan},
    links,
    request::ExportRequest,
};
use crate::{
    edge::{
        Caller, Problem,
        caller::EventsExport,
        enums::{ExportCompression, ExportFormat, ExportState},
        extract::{IdInPath, PageParams, PageQuery, cursor},
    },
    planes::ControlPlane,
};

/// Exports of one organization that are not finished. A node makes few at a time, whoever asked for
/// them, so more would mostly wait.
const UNFINISHED_MAX: u32 = 10;

/// A background export.
#[derive(Serialize, ToSchema)]
#[schema(as = Export)]
pub struct ExportBody {
    #[schema(value_type = String, example = "exp_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: ExportId,
    /// `queued`, `running`, `done`, `failed`, `canceled` or `expired`.
    #[schema(value_type = ExportState)]
    state: String,
    #[schema(value_type = ExportFormat)]
    format: String,
    #[schema(value_type = ExportCompression)]
    compression: String,
    #[schema(value_type = Object)]
    filter: Value,
    /// The API key or the person that asked for it.
    asked_by: String,
    /// How much is done, from 0 to 1, measured by the time in which the events occurred, not by their number.
    progress: f64,
    /// How many events so far.
    events: u64,
    /// The finished files; together they make up the export. Each is complete in itself.
    files: Vec<FileBody>,
    /// Why it failed, or why it is being retried.
    error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
    /// When its files are deleted.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

/// A file of an export.
#[derive(Serialize, ToSchema)]
#[schema(as = ExportFile)]
pub struct FileBody {
    #[schema(example = "audit-events-0001.ndjson.gz")]
    name: String,
    events: u64,
    bytes: u64,
    /// SHA-256 of the whole file.
    sha256: String,
    /// Where to download it; anyone with the link can, without a key.
    url: String,
    /// When the link expires; request the export again to get a new one.
    #[schema(value_type = String, format = DateTime)]
    url_expires_at: Timestamp,
}

/// One page of exports, newest first.
#[derive(Serialize, ToSchema)]
pub struct ExportPage {
    data: Vec<ExportBody>,
    next_cursor: Option<String>,
}

/// Notes what is wanted and answers 202; a worker takes it from there.
pub(super) async fn create(
    plane: &ControlPlane,
    caller: &Caller<EventsExport>,
    wanted: &ExportRequest,
) -> Result<Response, Problem> {
    if plane.files.is_none() {
        let detail = "There is nowhere to store files: the operator has to set `files.url`. Without `async`, the \
                      export is sent as the response.";
        return Err(Problem::invalid(vec![Fault::invalid("/async", detail)]));
    }
    let plan = plan(plane, caller.org, wanted).await?;
    let now = plane.clock.now();
    let id = ExportId::new(now, random::bytes());
    let export = NewExport {
        org: caller.org,
        id,
        asked_by: caller.identity.counted_as(),
        filter: serde_json::to_string(&plan.filter).expect("a filter is plain JSON"),
        format: wanted.format.as_str().to_owned(),
        compression: wanted.compression.as_str().to_owned(),
        range: plan.range.map(|range| (range.newest, range.oldest)),
        created_at: now,
        secret: random::bytes(),
    };
    if !plane.store.insert_export(&export, UNFINISHED_MAX).await? {
        let detail = format!(
            "Your organization already has {UNFINISHED_MAX} unfinished exports. Wait for one to finish, or cancel one."
        );
        return Err(Problem::new(ErrorCode::LimitReached, detail));
    }
    // What is recorded exists, and nobody works on what is not recorded.
    let noted = note(plane, caller, wanted, Some(id)).await;
    let without = match noted {
        Ok(without) => without,
        Err(problem) => {
            plane.store.forget_export(caller.org, id).await?;
            return Err(problem);
        }
    };
    plane.store.queue_export(caller.org, id, without).await?;
    let made = plane.store.export(caller.org, id).await?;
    let made = made.ok_or_else(|| Problem::not_found("export"))?;
    let location = format!("/v1/audit/exports/{id}");
    let location = HeaderValue::from_str(&location).expect("an id is plain ASCII");
    let body = Json(body(plane, made));
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], body).into_response())
}

/// Lists background exports, newest first.
#[utoipa::path(
    get, path = "/v1/audit/exports", tag = "exports",
    security(("api_key" = ["events:export"]), ("session" = [])),
    params(PageParams),
    responses((status = 200, description = "One page", body = ExportPage)),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsExport>,
    wanted: PageQuery<ExportId>,
) -> Result<Json<ExportPage>, Problem> {
    let page = plane
        .store
        .list_exports(caller.org, wanted.before, wanted.limit)
        .await?;
    Ok(Json(ExportPage {
        next_cursor: page.next.as_ref().map(cursor),
        data: page.rows.into_iter().map(|row| body(&plane, row)).collect(),
    }))
}

/// Returns one export: its progress, and links to its files.
#[utoipa::path(
    get, path = "/v1/audit/exports/{id}", tag = "exports",
    security(("api_key" = ["events:export"]), ("session" = [])),
    params(("id" = String, Path, description = "`exp_...`")),
    responses((status = 200, description = "The export", body = ExportBody)),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsExport>,
    IdInPath(id): IdInPath<ExportId>,
) -> Result<Json<ExportBody>, Problem> {
    let row = plane.store.export(caller.org, id).await?;
    let row = row.ok_or_else(|| Problem::not_found("export"))?;
    Ok(Json(body(&plane, row)))
}

/// Cancels an export if it is not finished, and deletes its files.
#[utoipa::path(
    delete, path = "/v1/audit/exports/{id}", tag = "exports",
    security(("api_key" = ["events:export"]), ("session" = [])),
    params(("id" = String, Path, description = "`exp_...`")),
    responses((status = 204, description = "Canceled")),
)]
pub async fn cancel(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsExport>,
    IdInPath(id): IdInPath<ExportId>,
) -> Result<StatusCode, Problem> {
    let now = plane.clock.now();
    if !plane.store.cancel_export(caller.org, id, now).await? {
        return Err(Problem::not_found("export"));
    }
    // What cannot be deleted now is deleted by the sweep; nothing links to it any more.
    if let Some(files) = &plane.files
        && let Err(error) = files.delete_below(&cleanup::folder(caller.org, id)).await
    {
        tracing::warn!(error = chain(&error), export.id = %id, "could not delete the files of an \
                                                                export; the cleanup will");
    }
    Ok(StatusCode::NO_CONTENT)
}

fn body(plane: &ControlPlane, row: ExportRow) -> ExportBody {
    let expires_at = links::expiry(plane.clock.now());
    let files = row.files.into_iter().map(|file| FileBody {
        url: links::url(
            &plane.public_url,
            row.id,
            &file.name,
            expires_at,
            &row.secret,
        ),
        url_expires_at: expires_at,
        name: file.name,
        events: file.events,
        bytes: file.bytes,
        sha256: file.sha256,
    });
    ExportBody {
        files: files.collect(),
        id: row.id,
        state: row.state,
        format: row.format,
        compression: row.compression,
        filter: serde_json::from_str(&row.filter).unwrap_or_default(),
        asked_by: row.asked_by,
        progress: row.progress,
        events: row.events,
        error: row.error,
        created_at: row.created_at,
        finished_at: row.finished_at,
        expires_at: row.expires_at,
    }
}
