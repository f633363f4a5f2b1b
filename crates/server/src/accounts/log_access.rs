//! `/v1/log`: which transparency log an organization has, and who may read it.

use axum::{Json as JsonAnswer, extract::State};
use domain::OrgId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::security_log::tell;
use crate::{
    edge::{
        Caller, Problem,
        caller::{EventsRead, Member, Owner},
        extract::Json,
    },
    planes::ControlPlane,
    transparency::doors::newest,
};

/// A transparency log, and who may read it.
#[derive(Serialize, ToSchema)]
#[schema(as = TransparencyLog)]
pub struct LogBody {
    /// The log's name: the first line of every checkpoint.
    #[schema(example = "watchbell.example.com/org_01jcq3k5m8e9ratvw2x4y6z8ab")]
    origin: String,
    /// How many entries the newest checkpoint has.
    size: u64,
    /// Whether anybody can read the checkpoint, the entries and the keys, without an API key.
    public: bool,
    /// Where anybody can; null unless the log is public.
    #[schema(
        example = "https://watchbell.example.com/v1/public-logs/org_01jcq3k5m8e9ratvw2x4y6z8ab"
    )]
    public_url: Option<String>,
}

/// Who may read a transparency log.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TransparencyLogChange)]
pub struct LogChange {
    /// `true` lets anybody read the checkpoint, the entries and the keys, without an API key.
    public: bool,
}

/// Returns your organization's transparency log: its name, its size, and who may read it.
#[utoipa::path(
    get, path = "/v1/log", tag = "log",
    security(("api_key" = ["events:read"]), ("session" = [])),
    responses((status = 200, description = "The log", body = LogBody)),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<EventsRead>,
) -> Result<JsonAnswer<LogBody>, Problem> {
    body(&plane, caller.org).await.map(JsonAnswer)
}

/// Makes your organization's transparency log public, or private again; for owners.
///
/// Anybody can then read the checkpoint, the entries and the keys under `public_url`, as `c2sp.org/tlog-tiles` describes, so
/// that customers and regulators can watch the log without an account. An entry shows that there is an event or a delivery
/// attempt, its id and its times, and nothing of what is in it. What was public once may have been copied.
#[utoipa::path(
    patch, path = "/v1/log", tag = "log", security(("session" = [])),
    request_body = LogChange,
    responses((status = 200, description = "The log after the change", body = LogBody)),
)]
pub async fn update(
    State(plane): State<ControlPlane>,
    member: Member<Owner>,
    Json(change): Json<LogChange>,
) -> Result<JsonAnswer<LogBody>, Problem> {
    newest(&plane, member.org).await?;
    let hand = member.hand(plane.clock.now());
    let changing = plane.store.set_transparency_log_public(hand, change.public);
    changing.await?;
    tell(&plane, member.org).await;
    body(&plane, member.org).await.map(JsonAnswer)
}

async fn body(plane: &ControlPlane, org: OrgId) -> Result<LogBody, Problem> {
    let log = newest(plane, org).await?;
    let public = plane.store.is_transparency_log_public(org).await?;
    let server = plane.public_url.origin();
    Ok(LogBody {
        origin: log.origin().to_owned(),
        size: log.size(),
        public,
        public_url: public.then(|| format!("{server}/v1/public-logs/{org}")),
    })
}
