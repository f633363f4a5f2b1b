//! `GET /v1/public-logs/{id}/...`: what anybody may read of a log whose owner made it public, in the formats of C2SP.

use axum::{
    Json as JsonAnswer,
    extract::{FromRequestParts, Path, RawPathParams, State},
    http::{HeaderValue, header, request::Parts},
    response::Response,
};
use domain::{OrgId, error_code::ErrorCode};

use super::doors::{Keys, checkpoint_of, keys_of, tile_of};
use crate::{edge::Problem, planes::ControlPlane};

/// A tile never changes, as wide as it is asked for.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The organization in the path, which made its log public: a handler that takes it needs no caller.
pub struct PublicLog {
    org: OrgId,
}

impl FromRequestParts<ControlPlane> for PublicLog {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, plane: &ControlPlane) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, plane).await;
        let params = params.map_err(|_| not_public())?;
        let named = params.iter().find(|(name, _)| *name == "id");
        let org = named.and_then(|(_, id)| id.parse().ok());
        let org: OrgId = org.ok_or_else(not_public)?;
        if !plane.store.is_transparency_log_public(org).await? {
            return Err(not_public());
        }
        Ok(Self { org })
    }
}

/// Returns the newest checkpoint of a public transparency log.
///
/// As `GET /v1/log/checkpoint` does, without an API key.
#[utoipa::path(
    get, path = "/v1/public-logs/{id}/checkpoint", tag = "log",
    params(("id" = String, Path, description = "The organization, `org_...`")),
    responses((status = 200, description = "The checkpoint", content_type = "text/plain", body = String)),
)]
pub async fn checkpoint(
    State(plane): State<ControlPlane>,
    log: PublicLog,
) -> Result<Response, Problem> {
    checkpoint_of(&plane, log.org).await
}

/// Returns a tile of hashes or a bundle of entries of a public transparency log.
///
/// As `GET /v1/log/tile/{path}` does, without an API key. It may be cached forever.
#[utoipa::path(
    get, path = "/v1/public-logs/{id}/tile/{path}", tag = "log",
    params(
        ("id" = String, Path, description = "The organization, `org_...`"),
        ("path" = String, Path, description = "`<L>/<N>` or `entries/<N>`, with `.p/<W>` if it is partial"),
    ),
    responses(
        (status = 200, description = "The tile or the bundle", content_type = "application/octet-stream", body = String),
    ),
)]
pub async fn tile(
    State(plane): State<ControlPlane>,
    log: PublicLog,
    Path((_id, path)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let mut tile = tile_of(&plane, log.org, &path).await?;
    tile.headers_mut().insert(header::CACHE_CONTROL, FOREVER);
    Ok(tile)
}

/// Returns the keys that sign a public transparency log.
#[utoipa::path(
    get, path = "/v1/public-logs/{id}/keys", tag = "log",
    params(("id" = String, Path, description = "The organization, `org_...`")),
    responses((status = 200, description = "The keys", body = Keys)),
)]
pub async fn keys(
    State(plane): State<ControlPlane>,
    log: PublicLog,
) -> Result<JsonAnswer<Keys>, Problem> {
    keys_of(&plane, log.org).await
}

/// The same whether there is no such organization, it has no log, or the log is not public.
fn not_public() -> Problem {
    let detail =
        "There is no public log here. An owner of the organization can make its log public.";
    Problem::new(ErrorCode::NotFound, detail)
}
