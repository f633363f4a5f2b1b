//! Links to the files of an export, which work for a while for whoever has them.
//!
//! A link is signed with a secret that only its export has: it cannot be made for another file or a
//! later time, and it ends with the export.

use std::time::Duration;

use axum::{
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use domain::{ExportId, Timestamp, error_code::ErrorCode};
use hmac::{Hmac, KeyInit as _, Mac as _};
use runtime::error_chain::chain;
use serde::Deserialize;
use sha2::Sha256;
use store::exports::LinkedFile;

use crate::{
    config::PublicUrl,
    edge::{Problem, client_address::ClientAddress},
    planes::ControlPlane,
};

/// Long enough to begin a download by hand; one that has begun goes on.
const LASTS: Duration = Duration::from_mins(15);

/// Twice what the longest of our names has (`audit-events-0001.ndjson.gz`).
const NAME_BYTES_MAX: usize = 64;

/// What a link carries.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkParams {
    expires: i64,
    signature: String,
}

/// When a link that is made now runs out.
pub(super) fn expiry(now: Timestamp) -> Timestamp {
    Timestamp::from_unix_millis(now.plus(LASTS).unix_seconds() * 1_000)
}

pub(super) fn url(
    public_url: &PublicUrl,
    id: ExportId,
    name: &str,
    expires_at: Timestamp,
    secret: &[u8],
) -> String {
    let expires = expires_at.unix_seconds();
    let signature = hex::encode(signed(id, name, expires, secret).finalize().into_bytes());
    let origin = public_url.origin();
    format!("{origin}/v1/audit/exports/{id}/files/{name}?expires={expires}&signature={signature}")
}

fn signed(id: ExportId, name: &str, expires: i64, secret: &[u8]) -> Hmac<Sha256> {
    let hmac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    hmac.chain_update(format!("{id}\n{name}\n{expires}"))
}

/// Downloads a file of an export, using a link from the export.
#[utoipa::path(
    get, path = "/v1/audit/exports/{id}/files/{name}", tag = "exports",
    params(
        ("id" = String, Path, description = "`exp_...`"),
        ("name" = String, Path, description = "The file's name"),
        ("expires" = i64, Query, description = "When the link expires, in seconds since 1970"),
        ("signature" = String, Query, description = "Proves that this server issued the link"),
    ),
    responses(
        (status = 200, description = "The file", content_type = "application/octet-stream", body = String),
    ),
)]
pub async fn download(
    State(plane): State<ControlPlane>,
    client: ClientAddress,
    Path((id, name)): Path<(String, String)>,
    params: Result<Query<LinkParams>, QueryRejection>,
) -> Result<Response, Problem> {
    let id: ExportId = id.parse().map_err(|_| no_such_link())?;
    let Query(link) = params.map_err(|_| no_such_link())?;
    // Whoever has no key is not known by anything else, so links are guessed as keys are.
    let quotas = &plane.door.quotas;
    quotas.may_guess(&client)?;
    let Some(file) = linked(&plane, id, &name, &link).await? else {
        quotas.note_guess(&client).await;
        return Err(no_such_link());
    };
    let files = plane.files.as_ref().ok_or_else(no_such_link)?;
    let (bytes, stream) = files
        .read(&file.object)
        .await
        .map_err(|error| match error {
            archive::Error::Missing(_) => no_such_link(),
            error => {
                tracing::warn!(error = chain(&error), export.id = %id, "could not read a file of \
                                                                        an export");
                let detail = "The file cannot be read right now; try again.";
                Problem::new(ErrorCode::StoreUnavailable, detail)
            }
        })?;
    let disposition = format!("attachment; filename=\"{name}\"");
    let disposition = HeaderValue::from_str(&disposition).map_err(|_| no_such_link())?;
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/octet-stream"),
        ),
        (header::CONTENT_LENGTH, HeaderValue::from(bytes)),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, Body::from_stream(stream)).into_response())
}

/// The file that a link leads to, if we made the link and it has not run out.
async fn linked(
    plane: &ControlPlane,
    id: ExportId,
    name: &str,
    link: &LinkParams,
) -> Result<Option<LinkedFile>, store::Error> {
    let now = plane.clock.now();
    let Ok(signature) = hex::decode(&link.signature) else {
        return Ok(None);
    };
    if !is_file_name(name) || link.expires <= now.unix_seconds() {
        return Ok(None);
    }
    let file = plane.store.linked_file(id, name, now).await?;
    Ok(file.filter(|file| {
        let signed = signed(id, name, link.expires, &file.secret);
        signed.verify_slice(&signature).is_ok()
    }))
}

/// Whether a file of ours could be called so.
fn is_file_name(name: &str) -> bool {
    let is_ours = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| is_ours(byte) || b".-".contains(&byte))
}

/// The same whatever is wrong with it.
fn no_such_link() -> Problem {
    let detail = "This link does not work or has expired. Request the export again (GET \
                  /v1/audit/exports/{id}) to get new links.";
    Problem::new(ErrorCode::NotFound, detail)
}
