//! `/v1/api-keys`: keys are made, listed, rotated and revoked by people; a key's text is shown once.

use std::time::Duration;

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{
    KeyId, OrgId, Timestamp, UserId,
    account::{Agents, ApiKey, KeyHash, Scope},
    error_code::ErrorCode,
    fault::{Fault, FaultCode},
};
use journal::kv::{Change, KeyEntry};
use runtime::random;
use serde::{Deserialize, Serialize};
use store::{
    api_keys::{KeyChange, KeyRow, NewKey},
    outbox::OutboxEntry,
};
use utoipa::ToSchema;

use super::security_log::tell;
use crate::{
    announce,
    edge::{
        Problem,
        caller::{Admin, Anybody, Member},
        enums::KeyScope,
        extract::{IdInPath, Json, PageParams, PageQuery, cursor},
    },
    planes::ControlPlane,
};

const NAME_MAX: usize = 128;
/// How long a key that was rotated goes on, unless asked otherwise: a day to change it everywhere.
const OVERLAP_DEFAULT_S: u32 = 24 * 3_600;
/// A month; who needs longer has two keys.
const OVERLAP_MAX_S: u32 = 30 * 24 * 3_600;

/// A key to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKeyBody {
    /// 1 to 128 characters, for people.
    #[schema(example = "billing agent")]
    name: String,
    /// What it may do, one or more.
    #[schema(value_type = Vec<KeyScope>, example = json!(["events:write"]))]
    scopes: Vec<String>,
    /// The agents it may send events and ask for decisions as, up to 20; with `*` at the end, all agents whose id
    /// starts with it. If empty, it may act as any agent.
    #[serde(default)]
    #[schema(example = json!(["billing-*"]))]
    agents: Vec<String>,
    /// When it expires; by default never.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

/// How to rotate a key.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// For how many seconds the old key keeps working; 0 ends it immediately. At most 30 days.
    #[serde(default = "a_day")]
    #[schema(default = 86_400)]
    overlap_s: u32,
}

fn a_day() -> u32 {
    OVERLAP_DEFAULT_S
}

/// An API key, without the key itself.
#[derive(Serialize, ToSchema)]
pub struct KeyBody {
    #[schema(value_type = String, example = "key_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: KeyId,
    name: String,
    /// The last characters of the key.
    hint: String,
    #[schema(value_type = Vec<KeyScope>)]
    scopes: Vec<Scope>,
    /// The agents it may act as; if empty, all agents.
    #[schema(value_type = Vec<String>)]
    agents: Agents,
    /// Who created it; null if an operator did.
    #[schema(value_type = Option<String>)]
    created_by: Option<UserId>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// Accurate to 15 seconds.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    revoked_at: Option<Timestamp>,
    /// The key it was rotated into.
    #[schema(value_type = Option<String>)]
    replaced_by: Option<KeyId>,
}

/// A key that was just created: the only response that carries the key itself.
#[derive(Serialize, ToSchema)]
pub struct MadeKey {
    #[serde(flatten)]
    key: KeyBody,
    /// The key. It is not stored and cannot be shown again.
    #[schema(example = "wb_live_...")]
    api_key: String,
}

/// One page of keys.
#[derive(Serialize, ToSchema)]
pub struct KeyPage {
    data: Vec<KeyBody>,
    next_cursor: Option<String>,
}

/// Creates an API key.
///
/// Only this response carries the key. It works immediately, on every node.
#[utoipa::path(
    post, path = "/v1/api-keys", tag = "api keys", security(("session" = [])),
    request_body = NewKeyBody,
    responses(
        (status = 201, description = "Created and in effect", body = MadeKey),
    ),
)]
pub async fn create(
    State(plane): State<ControlPlane>,
    member: Member<Admin>,
    Json(wanted): Json<NewKeyBody>,
) -> Result<(StatusCode, JsonAnswer<MadeKey>), Problem> {
    let now = plane.clock.now();
    let (scopes, agents) = checked(&wanted, now)?;
    let (key, text) = Draft {
        org: member.org,
        name: wanted.name,
        scopes,
        agents,
        created_by: Some(member.user),
        expires_at: wanted.expires_at,
    }
    .make(now);
    let announcement = announced(&key.hash, &entry(&key));
    done(plane.store.create_key(&key, &announcement).await?)?;
    let known = plane.announce(|| lost_before_shown(key.id)).await;
    tell(&plane, member.org).await;
    known?;
    Ok((StatusCode::CREATED, JsonAnswer(MadeKey::new(key, &text))))
}

/// Lists API keys, newest first, including revoked ones.
#[utoipa::path(
    get, path = "/v1/api-keys", tag = "api keys", security(("session" = [])),
    params(PageParams),
    responses(
        (status = 200, description = "One page", body = KeyPage),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    page: PageQuery<KeyId>,
) -> Result<JsonAnswer<KeyPage>, Problem> {
    let page = plane
        .store
        .list_keys(member.org, page.before, page.limit)
        .await?;
    Ok(JsonAnswer(KeyPage {
        data: page.rows.into_iter().map(KeyBody::from).collect(),
        next_cursor: page.next.as_ref().map(cursor),
    }))
}

/// Returns one API key.
#[utoipa::path(
    get, path = "/v1/api-keys/{id}", tag = "api keys", security(("session" = [])),
    params(("id" = String, Path, description = "The key's id")),
    responses(
        (status = 200, description = "The key", body = KeyBody),
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
    IdInPath(id): IdInPath<KeyId>,
) -> Result<JsonAnswer<KeyBody>, Problem> {
    let key = plane.store.key(member.org, id).await?;
    let key = key.ok_or_else(|| Problem::not_found("API key"))?;
    Ok(JsonAnswer(KeyBody::from(key)))
}

/// Rotates an API key.
///
/// Creates a new key with the same name, scopes, agents and expiry; the old one keeps working for `overlap_s` seconds,
/// so that agents can be switched over one by one. A key can be rotated once; after that, rotate its successor.
#[utoipa::path(
    post, path = "/v1/api-keys/{id}/rotate", tag = "api keys", security(("session" = [])),
    params(("id" = String, Path, description = "The key's id")),
    request_body = Rotation,
    responses(
        (status = 201, description = "The new key, in effect", body = MadeKey),
    ),
)]
pub async fn rotate(
    State(plane): State<ControlPlane>,
    member: Member<Admin>,
    IdInPath(id): IdInPath<KeyId>,
    Json(rotation): Json<Rotation>,
) -> Result<(StatusCode, JsonAnswer<MadeKey>), Problem> {
    if rotation.overlap_s > OVERLAP_MAX_S {
        let detail = format!("`overlap_s` must be at most {OVERLAP_MAX_S}, which is 30 days.");
        return Err(Problem::invalid(vec![Fault::invalid("/overlap_s", detail)]));
    }
    let now = plane.clock.now();
    let old = plane.store.key(member.org, id).await?;
    let old = old.ok_or_else(|| Problem::not_found("API key"))?;
    let overlap = Duration::from_secs(u64::from(rotation.overlap_s));
    let (key, text) = Draft {
        org: member.org,
        name: old.name,
        scopes: old.scopes,
        agents: old.agents,
        created_by: Some(member.user),
        expires_at: old.expires_at,
    }
    .make(now);
    let announcements = |ends_at| {
        let ending = KeyEntry {
            id: old.id,
            expires_at: Some(ends_at),
            ..entry(&key)
        };
        [
            announced(&old.hash, &ending),
            announced(&key.hash, &entry(&key)),
        ]
    };
    let rotated = plane
        .store
        .rotate_key(id, now.plus(overlap), &key, announcements)
        .await?;
    if rotated == KeyChange::NoSuchKey {
        let detail = match old.replaced_by {
            Some(successor) => format!("This key was already rotated, into {successor}."),
            None => "This key has expired, was revoked, or has just been rotated.".to_owned(),
        };
        let next = "If the new key itself was lost, rotate that one or create another.";
        return Err(Problem::new(
            ErrorCode::Conflict,
            format!("{detail} {next}"),
        ));
    }
    done(rotated)?;
    let known = plane.announce(|| lost_before_shown(key.id)).await;
    tell(&plane, member.org).await;
    known?;
    Ok((StatusCode::CREATED, JsonAnswer(MadeKey::new(key, &text))))
}

/// Revokes an API key.
///
/// Every node refuses it within a second. Revoking it again is not an error.
#[utoipa::path(
    delete, path = "/v1/api-keys/{id}", tag = "api keys", security(("session" = [])),
    params(("id" = String, Path, description = "The key's id")),
    responses(
        (status = 204, description = "Revoked"),
    ),
)]
pub async fn revoke(
    State(plane): State<ControlPlane>,
    member: Member<Admin>,
    IdInPath(id): IdInPath<KeyId>,
) -> Result<StatusCode, Problem> {
    let gone = |hash: &KeyHash| announce::entry(Change::key_gone(hash));
    let hand = member.hand(plane.clock.now());
    done(plane.store.revoke_key(hand, id, gone).await?)?;
    let known = plane
        .announce(|| {
            format!(
                "The key {id} is revoked, but nodes keep accepting it until the journal is back."
            )
        })
        .await;
    tell(&plane, member.org).await;
    known?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a new key is made of, before chance gives it its text.
pub(super) struct Draft {
    pub(super) org: OrgId,
    pub(super) name: String,
    pub(super) scopes: Vec<Scope>,
    pub(super) agents: Agents,
    pub(super) created_by: Option<UserId>,
    pub(super) expires_at: Option<Timestamp>,
}

impl Draft {
    pub(super) fn make(self, now: Timestamp) -> (NewKey, ApiKey) {
        let text = ApiKey::new(random::bytes());
        let key = NewKey {
            org: self.org,
            id: KeyId::new(now, random::bytes()),
            name: self.name,
            hash: text.hash(),
            hint: text.hint().to_owned(),
            scopes: self.scopes,
            agents: self.agents,
            created_by: self.created_by,
            created_at: now,
            expires_at: self.expires_at,
        };
        (key, text)
    }
}

/// Everything that is wrong with a new key, or its scopes and agents.
fn checked(wanted: &NewKeyBody, now: Timestamp) -> Result<(Vec<Scope>, Agents), Problem> {
    let mut faults = Vec::new();
    faults.extend(Fault::of_name(&wanted.name, NAME_MAX));
    if wanted.expires_at.is_some_and(|end| end <= now) {
        faults.push(Fault::invalid(
            "/expires_at",
            "`expires_at` is in the past.",
        ));
    }
    let mut scopes = Vec::new();
    for (place, name) in wanted.scopes.iter().enumerate() {
        match name.parse() {
            Ok(scope) if scopes.contains(&scope) => {}
            Ok(scope) => scopes.push(scope),
            Err(_) => {
                let known: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
                let detail = format!("A scope must be one of {}.", known.join(", "));
                faults.push(Fault::invalid(format!("/scopes/{place}"), detail));
            }
        }
    }
    if wanted.scopes.is_empty() {
        let detail = "A key needs at least one scope, such as `events:write`.";
        faults.push(Fault::new(FaultCode::FieldRequired, "/scopes", detail));
    }
    match Agents::parse(&wanted.agents) {
        Ok(agents) if faults.is_empty() => return Ok((scopes, agents)),
        Ok(_) => {}
        Err(wrong) => faults.extend(wrong),
    }
    Err(Problem::invalid(faults))
}

/// What every node is told of a key.
pub(super) fn entry(key: &NewKey) -> KeyEntry {
    KeyEntry {
        id: key.id,
        org_id: key.org,
        scopes: key.scopes.clone(),
        expires_at: key.expires_at,
        agents: key.agents.clone(),
    }
}

pub(super) fn announced(hash: &KeyHash, entry: &KeyEntry) -> OutboxEntry {
    announce::entry(Change::key_made(hash, entry))
}

fn done(change: KeyChange) -> Result<(), Problem> {
    match change {
        KeyChange::Done => Ok(()),
        KeyChange::NoSuchKey => Err(Problem::not_found("API key")),
        KeyChange::NotAllowed => Err(Problem::new(
            ErrorCode::Forbidden,
            "You are no longer allowed to create keys.",
        )),
        KeyChange::TooMany => Err(Problem::new(
            ErrorCode::LimitReached,
            "Your organization already has 10,000 working keys; revoke some first.",
        )),
    }
}

/// The text of a key is shown in the answer that makes it, and there is none.
fn lost_before_shown(id: KeyId) -> String {
    format!(
        "The key {id} was saved, but the journal is unavailable and the key itself cannot be shown later. Revoke it \
         (DELETE /v1/api-keys/{id}) and create another."
    )
}

impl MadeKey {
    fn new(key: NewKey, text: &ApiKey) -> Self {
        Self {
            key: KeyBody {
                id: key.id,
                name: key.name,
                hint: key.hint,
                scopes: key.scopes,
                agents: key.agents,
                created_by: key.created_by,
                created_at: key.created_at,
                expires_at: key.expires_at,
                last_used_at: None,
                revoked_at: None,
                replaced_by: None,
            },
            api_key: text.reveal().to_owned(),
        }
    }
}

impl From<KeyRow> for KeyBody {
    fn from(key: KeyRow) -> Self {
        Self {
            id: key.id,
            name: key.name,
            hint: key.hint,
            scopes: key.scopes,
            agents: key.agents,
            created_by: key.created_by,
            created_at: key.created_at,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
            revoked_at: key.revoked_at,
            replaced_by: key.replaced_by,
        }
    }
}
