//! `/v1/signing-secrets`: an organization's secrets are staged, promoted and dropped by people; a secret's
//! text is shown once.

use std::time::Duration;

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{
    OrgId, SecretId, Timestamp, UserId,
    error_code::ErrorCode,
    fault::Fault,
    secret::{self, OVERLAP_DEFAULT, OVERLAP_MAX, Refused, Secret, Secrets, What},
};
use journal::{
    kv::Change,
    secrets::{SealedSecret, SealedSecrets},
};
use runtime::random;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use store::{
    outbox::OutboxEntry,
    signing_secrets::{Decided, NotChanged, SecretChange, SecretRow},
};
use utoipa::ToSchema;

use crate::{
    announce, change_outbox,
    edge::{
        Problem,
        caller::{Admin, Anybody, Member},
        enums::SecretState,
        extract::{IdInPath, Json},
    },
    planes::ControlPlane,
};

/// How to promote a secret.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// For how many seconds the previous secret keeps signing alongside it; 0 ends it immediately. At most 7 days.
    #[serde(default = "a_day")]
    #[schema(default = 86_400)]
    overlap_s: u64,
}

fn a_day() -> u64 {
    OVERLAP_DEFAULT.as_secs()
}

/// A signing secret, without the secret itself.
#[derive(Serialize, ToSchema)]
pub struct SecretBody {
    #[schema(value_type = String, example = "sec_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: SecretId,
    /// `staged`, `current`, `previous` or `dropped`.
    #[schema(value_type = SecretState)]
    state: &'static str,
    /// Who created it.
    #[schema(value_type = Option<String>)]
    created_by: Option<UserId>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    promoted_at: Option<Timestamp>,
    /// When it stops, or stopped, signing.
    #[schema(value_type = Option<String>, format = DateTime)]
    ends_at: Option<Timestamp>,
}

/// A secret that was just created: the only response that carries the secret itself.
#[derive(Serialize, ToSchema)]
pub struct MadeSecret {
    #[serde(flatten)]
    about: SecretBody,
    /// The secret. It cannot be shown again.
    #[schema(example = "whsec_...")]
    secret: String,
}

/// All secrets of an organization, newest first.
#[derive(Serialize, ToSchema)]
pub struct SecretList {
    data: Vec<SecretBody>,
    /// The state of the initial secret; null if the deployment does not sign anything by default.
    initial: Option<InitialBody>,
}

/// The secret that the organization has from the start; `GET /v1/signing-secrets/initial` shows it.
#[derive(Serialize, ToSchema)]
pub struct InitialBody {
    /// `current`; `previous`, alongside the first promoted secret; or `dropped`, once another signs.
    #[schema(value_type = SecretState)]
    state: &'static str,
    /// Until when it signs alongside the first promoted secret.
    #[schema(value_type = Option<String>, format = DateTime)]
    ends_at: Option<Timestamp>,
}

/// Stages a signing secret.
///
/// Only this response carries the secret. Give it to your receivers alongside the one they have; then promote it. Until
/// then, deliveries carry its signature as `X-Service-Signature-Next`.
#[utoipa::path(
    post, path = "/v1/signing-secrets", tag = "signing secrets", security(("session" = [])),
    responses(
        (status = 201, description = "Created and staged", body = MadeSecret),
    ),
)]
pub async fn stage(
    State(plane): State<ControlPlane>,
    member: Member<Admin>,
) -> Result<(StatusCode, JsonAnswer<MadeSecret>), Problem> {
    let now = plane.clock.now();
    let text = format!("whsec_{}", STANDARD.encode(random::bytes::<32>()));
    let text = SecretString::from(text);
    let (org, by) = (member.org, member.user);
    if plane.vault.is_empty() {
        return Err(not_configured());
    }
    let decide = |rows: &[SecretRow]| {
        let secret = lives(rows).stage(now, random::bytes())?;
        let row = SecretRow {
            secret,
            sealed: plane.vault.seal(org, secret.id, &text),
            created_by: Some(by),
        };
        Ok(decided(
            vec![row],
            told(&member, secret.id, What::Staged, now),
        ))
    };
    let made = change(&plane, &member, decide).await?;
    let row = made.changed.into_iter().next().expect("one was staged");
    let id = row.secret.id;
    let lost = || {
        format!(
            "The secret {id} was saved, but the journal is unavailable and the secret itself cannot be shown later. \
             Drop it (DELETE /v1/signing-secrets/{id}) and stage another."
        )
    };
    plane.announce(lost).await?;
    tell_of(&plane, made.told).await;
    let made = MadeSecret {
        about: SecretBody::new(&row, now),
        secret: text.expose_secret().to_owned(),
    };
    Ok((StatusCode::CREATED, JsonAnswer(made)))
}

/// Lists signing secrets, newest first, including dropped ones.
#[utoipa::path(
    get, path = "/v1/signing-secrets", tag = "signing secrets", security(("session" = [])),
    responses(
        (status = 200, description = "All signing secrets", body = SecretList),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    member: Member<Anybody>,
) -> Result<JsonAnswer<SecretList>, Problem> {
    let now = plane.clock.now();
    let rows = plane.store.signing_secrets(member.org, now).await?;
    let has_own = lives(&rows).in_state(secret::State::Current, now).is_some();
    let ends_at = lives(&rows).deployment_until(now);
    let state = match (has_own, ends_at) {
        (false, _) => secret::State::Current,
        (true, Some(_)) => secret::State::Previous,
        (true, None) => secret::State::Dropped,
    };
    let initial = InitialBody {
        state: state.as_str(),
        ends_at,
    };
    Ok(JsonAnswer(SecretList {
        data: rows.iter().map(|row| SecretBody::new(row, now)).collect(),
        initial: plane.deployment_keys.is_there().then_some(initial),
    }))
}

/// Promotes a staged signing secret.
///
/// From now on it makes `X-Service-Signature`. The previous secret, even the initial one, keeps signing for `overlap_s`
/// seconds as `X-Service-Signature-Previous`.
#[utoipa::path(
    post, path = "/v1/signing-secrets/{id}/promote", tag = "signing secrets", security(("session" = [])),
    params(("id" = String, Path, description = "The secret's id")),
    request_body = Promotion,
    responses(
        (status = 200, description = "The secret that signs now", body = SecretBody),
    ),
)]
pub async fn promote(
    State(plane): State<ControlPlane>,
    member: Member<Admin>,
    IdInPath(id): IdInPath<SecretId>,
    Json(promotion): Json<Promotion>,
) -> Result<JsonAnswer<SecretBody>, Problem> {
    let overlap = Duration::from_secs(promotion.overlap_s);
    if overlap > OVERLAP_MAX {
        let most = OVERLAP_MAX.as_secs();
        let detail = format!("`overlap_s` must be at most {most}, which is 7 days.");
        return Err(Problem::invalid(vec![Fault::invalid("/overlap_s", detail)]));
    }
    let now = plane.clock.now();
    let decide = |rows: &[SecretRow]| {
        let has_deployment = plane.deployment_keys.is_there();
        let changed = lives(rows).promote(id, overlap, has_deployment, now)?;
        if changed.is_empty() {
            // It is current already, and is answered as it is.
            let as_it_is = rows.iter().filter(|row| row.secret.id == id);
            return Ok(Decided {
                changed: as_it_is.cloned().collect(),
                told: None,
            });
        }
        let mut told = told(&member, id, What::Promoted, now);
        told.until = Some(now.plus(overlap));
        Ok(decided(with_texts(rows, changed), told))
    };
    let made = change(&plane, &member, decide).await?;
    let saved = || {
        format!(
            "The secret {id} is promoted, and signs once the journal is back. Do not send it again; GET \
             /v1/signing-secrets shows it."
        )
    };
    plane.announce(saved).await?;
    tell_of(&plane, made.told).await;
    let promoted = made.changed.iter().find(|row| row.secret.id == id);
    let promoted = promoted.expect("it is among what changed");
    Ok(JsonAnswer(SecretBody::new(promoted, now)))
}

/// Drops a signing secret.
///
/// Nothing is signed with it anymore, and the secret itself is erased. Dropping it again changes nothing. The current
/// secret cannot be dropped: promote another first.
#[utoipa::path(
    delete, path = "/v1/signing-secrets/{id}", tag = "signing secrets", security(("session" = [])),
    params(("id" = String, Path, description = "The secret's id")),
    responses(
        (status = 204, description = "Dropped"),
    ),
)]
pub async fn drop(
    State(plane): State<ControlPlane>,
    member: Member<Admin>,
    IdInPath(id): IdInPath<SecretId>,
) -> Result<StatusCode, Problem> {
    let now = plane.clock.now();
    let decide = |rows: &[SecretRow]| {
        let dropped = lives(rows).drop(id, now)?;
        // One whose overlap is over has ended by itself; now its text goes too.
        let ended = rows.iter().find(|row| row.secret.id == id);
        let secret = dropped.or(ended.map(|row| row.secret));
        let mut changed = with_texts(rows, secret.into_iter().collect());
        for row in &mut changed {
            row.sealed = None;
        }
        Ok(Decided {
            changed,
            told: dropped.map(|_| told(&member, id, What::Dropped, now)),
        })
    };
    let made = change(&plane, &member, decide).await?;
    let saved =
        || format!("The secret {id} is dropped, but keeps signing until the journal is back.");
    plane.announce(saved).await?;
    tell_of(&plane, made.told).await;
    Ok(StatusCode::NO_CONTENT)
}

async fn change(
    plane: &ControlPlane,
    member: &Member<Admin>,
    decide: impl FnOnce(&[SecretRow]) -> Result<Decided, Refused>,
) -> Result<Decided, Problem> {
    let (org, now) = (member.org, plane.clock.now());
    let announcement = |rows: &[SecretRow]| announced(org, rows, now);
    let changed = plane
        .store
        .change_signing_secrets(org, member.user, now, decide, announcement)
        .await?;
    changed.map_err(refusal)
}

fn announced(org: OrgId, rows: &[SecretRow], now: Timestamp) -> OutboxEntry {
    announce::entry(in_force(org, rows, now))
}

/// What every node is told: all that is signed with, or is going to be.
pub(crate) fn in_force(org: OrgId, rows: &[SecretRow], now: Timestamp) -> Change {
    let live = rows
        .iter()
        .filter(|row| row.secret.state(now) != secret::State::Dropped);
    let sealed = |row: &SecretRow| {
        Some(SealedSecret {
            secret: row.secret,
            sealed: row.sealed.clone()?,
        })
    };
    let secrets = live.filter_map(sealed).collect();
    Change::secrets_saved(org, &SealedSecrets { secrets })
}

async fn tell_of(plane: &ControlPlane, told: Option<SecretChange>) {
    if let Some(told) = told {
        change_outbox::publish(plane, &told).await;
    }
}

fn decided(changed: Vec<SecretRow>, told: SecretChange) -> Decided {
    Decided {
        changed,
        told: Some(told),
    }
}

fn told(member: &Member<Admin>, secret: SecretId, what: What, at: Timestamp) -> SecretChange {
    SecretChange {
        org: member.org,
        secret,
        what,
        by: member.user,
        at,
        until: None,
    }
}

fn lives(rows: &[SecretRow]) -> Secrets {
    Secrets(rows.iter().map(|row| row.secret).collect())
}

/// The secrets as they are to be saved, with the texts they have.
fn with_texts(rows: &[SecretRow], secrets: Vec<Secret>) -> Vec<SecretRow> {
    let with_text = |secret: Secret| {
        let row = rows.iter().find(|row| row.secret.id == secret.id)?;
        Some(SecretRow {
            secret,
            ..row.clone()
        })
    };
    secrets.into_iter().filter_map(with_text).collect()
}

fn not_configured() -> Problem {
    Problem::new(
        ErrorCode::NotConfigured,
        "Signing secrets are stored sealed, and there is no key to seal them with: the operator has to set \
         `secrets.key` on every node.",
    )
}

fn refusal(not_changed: NotChanged) -> Problem {
    let refused = match not_changed {
        NotChanged::NotAllowed => {
            let detail = "You are no longer allowed to change signing secrets.";
            return Problem::new(ErrorCode::Forbidden, detail);
        }
        NotChanged::Refused(refused) => refused,
    };
    let detail = match refused {
        Refused::NoSuchSecret => return Problem::not_found("signing secret"),
        Refused::Staged(id) => format!(
            "{id} is already staged. Promote it (POST /v1/signing-secrets/{id}/promote) or, if the secret itself was \
             lost, drop it (DELETE /v1/signing-secrets/{id})."
        ),
        Refused::NotStaged(state) => {
            let state = state.as_str();
            format!("Only a staged secret can be promoted; this one is {state}. Stage another.")
        }
        Refused::Overlapping {
            id: Some(id),
            until,
        } => format!(
            "The previous rotation is not over: {id} keeps signing until {until}. Wait until then; or drop it (DELETE \
             /v1/signing-secrets/{id}) if no receiver depends on it anymore; or promote with `overlap_s` 0, which ends \
             the current secret immediately."
        ),
        Refused::Overlapping { id: None, until } => format!(
            "The previous rotation is not over: the initial secret keeps signing until {until}. Wait until then, or \
             promote with `overlap_s` 0, which ends the current secret immediately."
        ),
        Refused::Current => {
            "This secret makes the current signatures. Stage and promote another; then this one \
             becomes the previous secret and can be dropped."
                .to_owned()
        }
    };
    Problem::new(ErrorCode::StateConflict, detail)
}

impl SecretBody {
    fn new(row: &SecretRow, now: Timestamp) -> Self {
        let secret = &row.secret;
        Self {
            id: secret.id,
            state: secret.state(now).as_str(),
            created_by: row.created_by,
            created_at: secret.created_at,
            promoted_at: secret.promoted_at,
            ends_at: secret.ends_at,
        }
    }
}
