//! `GET /v1/log/...`: what an auditor reads of a log, in the formats of C2SP; and the proofs of events and deliveries.

use archive::Bucket;
use axum::{
    Json as JsonAnswer,
    extract::{Path, State},
    http::header,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use domain::{AttemptId, DeliveryId, EventId, OrgId, Timestamp, error_code::ErrorCode};
use journal::streams::Log;
use runtime::error_chain::chain;
use serde::Serialize;
use store::transparency::keys::LogKey;
use transparency_log::{Bundle, Tile};
use utoipa::ToSchema;

use super::{published::Published, sequencer::Error};
use crate::{
    edge::{
        Caller, Problem,
        caller::{DeliveriesRead, EventsRead},
        extract::IdInPath,
    },
    events::missing::missing,
    planes::ControlPlane,
};

/// The log's keys.
#[derive(Serialize, ToSchema)]
#[schema(as = TransparencyLogKeys)]
pub struct Keys {
    /// The log's name: the first line of every checkpoint.
    #[schema(example = "watchbell.example.com/org_01jcq3k5m8e9ratvw2x4y6z8ab")]
    origin: String,
    /// Oldest first.
    keys: Vec<Key>,
}

/// A key that signs checkpoints, or did.
#[derive(Serialize, ToSchema)]
#[schema(as = TransparencyLogKey)]
pub struct Key {
    /// The public key, as tools for transparency logs accept it (`<name>+<id>+<key>`).
    verifier: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Since when it signs no more; null if it still does.
    #[schema(value_type = Option<String>, format = DateTime)]
    retired_at: Option<Timestamp>,
}

/// The proofs of a delivery's attempts.
#[derive(Serialize, ToSchema)]
pub struct DeliveryProof {
    /// Oldest first, the newest 100.
    attempts: Vec<AttemptProof>,
}

/// The proof of one attempt.
#[derive(Serialize, ToSchema)]
pub struct AttemptProof {
    #[schema(value_type = String)]
    id: AttemptId,
    /// What the log commits to, byte for byte: the attempt as JSON.
    statement: String,
    /// A `c2sp.org/tlog-proof@v1`; null if no checkpoint has the attempt yet, or it is older than the log.
    proof: Option<String>,
}

/// Returns the newest checkpoint of your organization's transparency log.
///
/// A signed note (`c2sp.org/tlog-checkpoint`): the log's name, the number of its entries and their root hash. Keep one, and
/// nothing before it can be changed without you noticing. If witnesses cosign the log, it is the newest checkpoint that they
/// cosigned, a few seconds old at the most; if none of them has for 10 seconds, it is the newest, without cosignatures.
#[utoipa::path(
    get, path = "/v1/log/checkpoint", tag = "log",
    security(("api_key" = ["events:read"]), ("session" = [])),
    responses((status = 200, description = "The checkpoint", content_type = "text/plain", body = String)),
)]
pub async fn checkpoint(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
) -> Result<Response, Problem> {
    checkpoint_of(&plane, caller.org).await
}

/// Returns a tile of hashes or a bundle of entries.
///
/// As `c2sp.org/tlog-tiles` describes: `tile/<L>/<N>` and `tile/entries/<N>`, with `.p/<W>` if it is partial. An entry has 66
/// bytes: it names an event or a delivery attempt and commits to it, but does not contain it.
#[utoipa::path(
    get, path = "/v1/log/tile/{path}", tag = "log",
    security(("api_key" = ["events:read"]), ("session" = [])),
    params(("path" = String, Path, description = "`<L>/<N>` or `entries/<N>`, with `.p/<W>` if it is partial")),
    responses(
        (status = 200, description = "The tile or the bundle", content_type = "application/octet-stream", body = String),
    ),
)]
pub async fn tile(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    Path(path): Path<String>,
) -> Result<Response, Problem> {
    tile_of(&plane, caller.org, &path).await
}

/// Returns the keys that sign your organization's transparency log.
#[utoipa::path(
    get, path = "/v1/log/keys", tag = "log",
    security(("api_key" = ["events:read"]), ("session" = [])),
    responses((status = 200, description = "The keys", body = Keys)),
)]
pub async fn keys(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
) -> Result<JsonAnswer<Keys>, Problem> {
    keys_of(&plane, caller.org).await
}

/// Proves that an event is in your organization's transparency log.
///
/// A `c2sp.org/tlog-proof@v1`, which anybody can verify without this server: the event's position, the hashes that lead to the
/// root, and the signed checkpoint. Its `extra` line has the salt that the entry's hash was made with.
#[utoipa::path(
    get, path = "/v1/audit/events/{id}/proof", tag = "log",
    security(("api_key" = ["events:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The event's id")),
    responses((status = 200, description = "The proof", content_type = "text/plain", body = String)),
)]
pub async fn event_proof(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
    IdInPath(id): IdInPath<EventId>,
) -> Result<Response, Problem> {
    plane.wait_until_fresh(caller.org, Log::Events).await?;
    let event = plane.store.committed_event(caller.org, id).await?;
    let Some(event) = event else {
        return Err(missing(&plane, caller.org, id).await);
    };
    let (leaf, salt) = event.ok_or_else(before_the_log)?;
    let log = published(&plane, caller.org).await?;
    let proof = log.prove(&leaf, salt).await.map_err(unreadable)?;
    let proof = proof.ok_or_else(not_yet)?;
    Ok(text(proof.to_string()))
}

/// Proves which attempts were made to send a delivery.
///
/// For each attempt, what the log commits to and a `c2sp.org/tlog-proof@v1` of it.
#[utoipa::path(
    get, path = "/v1/deliveries/{id}/proof", tag = "log",
    security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The delivery's id")),
    responses((status = 200, description = "The proofs", body = DeliveryProof)),
)]
pub async fn delivery_proof(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    IdInPath(id): IdInPath<DeliveryId>,
) -> Result<JsonAnswer<DeliveryProof>, Problem> {
    plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    let delivery = plane.store.delivery(caller.org, id).await?;
    delivery.ok_or_else(|| Problem::not_found("delivery"))?;
    let log = published(&plane, caller.org).await?;
    let mut attempts = Vec::new();
    for attempt in plane.store.attempts(caller.org, id).await? {
        let proof = match attempt.leaf().zip(attempt.salt) {
            Some((leaf, salt)) => log.prove(&leaf, salt).await.map_err(unreadable)?,
            None => None,
        };
        attempts.push(AttemptProof {
            id: attempt.id,
            statement: String::from_utf8_lossy(&attempt.statement()).into_owned(),
            proof: proof.map(|proof| proof.to_string()),
        });
    }
    Ok(JsonAnswer(DeliveryProof { attempts }))
}

pub(super) async fn checkpoint_of(plane: &ControlPlane, org: OrgId) -> Result<Response, Problem> {
    let log = Published::shown(&plane.store, bucket(plane)?, org).await;
    let log = log.map_err(unreadable)?.ok_or_else(not_yet)?;
    Ok(text(log.checkpoint.to_string()))
}

pub(super) async fn tile_of(
    plane: &ControlPlane,
    org: OrgId,
    path: &str,
) -> Result<Response, Problem> {
    let path = format!("tile/{path}");
    let log = newest(plane, org).await?;
    let bytes = if let Ok(tile) = path.parse::<Tile>() {
        log.tile(tile).await
    } else if let Ok(bundle) = path.parse::<Bundle>() {
        log.bundle(bundle).await
    } else {
        return Err(Problem::not_found("tile"));
    };
    let bytes = bytes.map_err(unreadable)?;
    let bytes = bytes.ok_or_else(|| Problem::not_found("tile"))?;
    Ok(octets(bytes))
}

pub(super) async fn keys_of(plane: &ControlPlane, org: OrgId) -> Result<JsonAnswer<Keys>, Problem> {
    let log = newest(plane, org).await?;
    let keys = plane.store.transparency_keys(org).await?;
    let key = |key: LogKey| Key {
        verifier: key.verifier,
        created_at: key.created_at,
        retired_at: key.retired_at,
    };
    Ok(JsonAnswer(Keys {
        origin: log.origin().to_owned(),
        keys: keys.into_iter().map(key).collect(),
    }))
}

async fn published(plane: &ControlPlane, org: OrgId) -> Result<Published, Problem> {
    let log = Published::open(&plane.store, bucket(plane)?, org).await;
    log.map_err(unreadable)?.ok_or_else(not_yet)
}

pub(crate) async fn newest(plane: &ControlPlane, org: OrgId) -> Result<Published, Problem> {
    let log = Published::newest(&plane.store, bucket(plane)?, org).await;
    log.map_err(unreadable)?.ok_or_else(not_yet)
}

fn bucket(plane: &ControlPlane) -> Result<&Bucket, Problem> {
    plane.files.as_ref().ok_or_else(|| {
        let detail = "This server keeps no transparency log: files.url is not set.";
        Problem::new(ErrorCode::NotConfigured, detail)
    })
}

fn not_yet() -> Problem {
    let detail =
        "The log has no checkpoint with this yet. One is signed about once a second; try again.";
    Problem::new(ErrorCode::NotFound, detail)
}

fn before_the_log() -> Problem {
    let detail = "This event was recorded before your organization had a transparency log.";
    Problem::new(ErrorCode::NotFound, detail)
}

fn unreadable(error: Error) -> Problem {
    match error {
        Error::Store(error) => error.into(),
        error => {
            tracing::warn!(error = chain(&error), "could not read a transparency log");
            let detail = "The log's files cannot be read right now; try again.";
            Problem::new(ErrorCode::StoreUnavailable, detail)
        }
    }
}

fn text(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

fn octets(bytes: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}
