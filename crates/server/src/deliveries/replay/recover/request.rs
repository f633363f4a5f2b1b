//! `POST /v1/alert-rules/{id}/recover` and `/v1/recoveries`: asks for a recovery, and shows how far it is.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use domain::{OrgId, RecoveryId, RuleId, Timestamp, delivery, error_code::ErrorCode, fault::Fault};
use journal::streams::Log;
use runtime::random;
use serde::{Deserialize, Serialize};
use store::{
    deliveries::recover::Recoverable,
    recoveries::{NewRecovery, RecoveryRow},
};
use utoipa::ToSchema;

use crate::{
    alerts::load_inputs,
    edge::{
        Caller, Problem,
        caller::{DeliveriesRead, RulesWrite},
        enums::{RecoverableState, RecoveryState},
        extract::{IdInPath, PageParams, PageQuery, cursor},
        idempotency_key::IdempotencyKey,
        idempotent_request::Asking,
        strict_json::RuleJson,
    },
    planes::ControlPlane,
};

/// Recoveries of one organization at a time; each sends again all that there is, so more would not be faster.
const RUNNING_MAX: u32 = 5;
/// Among so many of the newest those that are running are looked for; older ones are hardly ever.
const NEWEST: u32 = 100;
/// What is sent again unless asked otherwise.
const STATES_DEFAULT: [&str; 2] = ["held", "failed"];

/// Which deliveries to send again.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RuleRecover)]
pub struct RecoverBody {
    /// Deliveries that were matched at or after this time (RFC 3339).
    #[schema(format = DateTime)]
    since: String,
    /// Deliveries that were matched before this time; by default now.
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// In one of these states: `held`, `failed`, `canceled`, `delivered`, `pending`, `scheduled`; by default the first two.
    /// Deliveries held by an open breaker or at the receiver's request continue on their own and are left alone, and so do
    /// `pending` and `scheduled` ones unless they have been due for ten minutes: then the queue may have lost them.
    #[schema(value_type = Option<Vec<RecoverableState>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<Vec<String>>,
    /// Only count them.
    #[serde(default)]
    dry_run: bool,
}

/// What a recovery would send again.
#[derive(Serialize, ToSchema)]
pub struct RecoverCount {
    count: u64,
    by_state: BTreeMap<String, u64>,
}

/// A recovery.
#[derive(Serialize, ToSchema)]
#[schema(as = Recovery)]
pub struct RecoveryBody {
    #[schema(value_type = String, example = "rcv_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: RecoveryId,
    #[schema(value_type = String)]
    rule_id: RuleId,
    /// `running`, `done`, `canceled` or `failed`.
    #[schema(value_type = RecoveryState)]
    state: String,
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    until: Timestamp,
    #[schema(value_type = Vec<RecoverableState>)]
    states: Vec<String>,
    /// The key or the person that asked for it.
    asked_by: String,
    /// How many deliveries there were when it was requested; it may differ from what is sent in the end if deliveries
    /// are sent or given up in the meantime. Null if there were too many to count.
    total: Option<u64>,
    /// Sent again.
    done: u64,
    /// Not sent again: their events are no longer kept, or they are already on their way.
    skipped: u64,
    /// Why it failed, or why it is tried again.
    error: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
}

/// One page of recoveries, newest first.
#[derive(Serialize, ToSchema)]
pub struct RecoveryPage {
    data: Vec<RecoveryBody>,
    next_cursor: Option<String>,
}

/// Resends a rule's deliveries from a period of time, or counts them (`dry_run`).
///
/// It runs in the background, however many there are: `GET /v1/recoveries/{id}` returns its progress. Each delivery
/// keeps its id, gets a fresh schedule, and goes to the rule's current URL. Deliveries of a deleted rule cannot be
/// recovered.
#[utoipa::path(
    post, path = "/v1/alert-rules/{id}/recover", tag = "deliveries",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(
        ("id" = String, Path, description = "The rule's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "A unique key for this request: sending it again with the same key within 24 hours starts no second recovery"),
    ),
    request_body = RecoverBody,
    responses(
        (status = 200, description = "A dry run: how many deliveries there are", body = RecoverCount),
        (status = 202, description = "Begun", body = RecoveryBody),
    ),
)]
pub async fn recover(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(rule): IdInPath<RuleId>,
    key: IdempotencyKey,
    RuleJson(body): RuleJson<RecoverBody>,
) -> Result<Response, Problem> {
    load_inputs::saved(&plane, caller.org, rule).await?;
    let name = key.name(&caller)?.filter(|_| !body.dry_run);
    let mut asking = Asking::new(name, &body.said_of(rule), plane.clock.now());
    asking.look(&plane.journal).await?;
    let wanted = read(rule, &body, asking.at()).map_err(Problem::invalid)?;
    plane.wait_until_fresh(caller.org, Log::Outcomes).await?;
    let (store, asked) = (plane.store.clone(), wanted.clone());
    let query = async move { store.count_recoverable(caller.org, &asked).await };
    let counted = plane.searches.run(caller.org, query).await;
    let sum = |by_state: &[(String, u64)]| by_state.iter().map(|(_, count)| count).sum();
    if body.dry_run {
        let by_state = counted?;
        let count = sum(&by_state);
        let by_state = by_state.into_iter().collect();
        return Ok(Json(RecoverCount { count, by_state }).into_response());
    }
    // A job goes through them page by page, also if they are too many to be counted at once.
    let total = match counted {
        Ok(by_state) => Some(sum(&by_state)),
        Err(problem) if problem.code() == ErrorCode::TooExpensive => None,
        Err(problem) => return Err(problem),
    };
    if !asking.came_before() {
        refuse_if_full(&plane, caller.org).await?;
    }
    asking.mark(&plane.journal).await?;
    let at = asking.at();
    let id = match asking.name() {
        None => RecoveryId::new(at, random::bytes()),
        Some(name) => name.recovery_id(at),
    };
    let recovery = NewRecovery {
        org: caller.org,
        id,
        asked_by: caller.identity.counted_as(),
        wanted,
        total,
        created_at: at,
    };
    if !plane.store.insert_recovery(&recovery, RUNNING_MAX).await? {
        return Err(full());
    }
    let made = found(&plane, caller.org, id).await?;
    let location = HeaderValue::from_str(&format!("/v1/recoveries/{id}"));
    let location = location.expect("an id is plain ASCII");
    let answer = Json(RecoveryBody::from(made));
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], answer).into_response())
}

/// Lists recoveries, newest first.
#[utoipa::path(
    get, path = "/v1/recoveries", tag = "deliveries",
    security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(PageParams),
    responses((status = 200, description = "One page", body = RecoveryPage)),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    wanted: PageQuery<RecoveryId>,
) -> Result<Json<RecoveryPage>, Problem> {
    let page = plane
        .store
        .list_recoveries(caller.org, wanted.before, wanted.limit)
        .await?;
    Ok(Json(RecoveryPage {
        next_cursor: page.next.as_ref().map(cursor),
        data: page.rows.into_iter().map(RecoveryBody::from).collect(),
    }))
}

/// Returns the progress of a recovery.
#[utoipa::path(
    get, path = "/v1/recoveries/{id}", tag = "deliveries",
    security(("api_key" = ["deliveries:read"]), ("session" = [])),
    params(("id" = String, Path, description = "`rcv_...`")),
    responses((status = 200, description = "The recovery", body = RecoveryBody)),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<DeliveriesRead>,
    IdInPath(id): IdInPath<RecoveryId>,
) -> Result<Json<RecoveryBody>, Problem> {
    let row = found(&plane, caller.org, id).await?;
    Ok(Json(RecoveryBody::from(row)))
}

/// Stops a recovery. Deliveries it has already requeued still go out.
#[utoipa::path(
    post, path = "/v1/recoveries/{id}/cancel", tag = "deliveries",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(("id" = String, Path, description = "`rcv_...`")),
    responses((status = 200, description = "Canceled, or already over", body = RecoveryBody)),
)]
pub async fn cancel(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<RecoveryId>,
) -> Result<Json<RecoveryBody>, Problem> {
    let now = plane.clock.now();
    plane.store.cancel_recovery(caller.org, id, now).await?;
    let row = found(&plane, caller.org, id).await?;
    Ok(Json(RecoveryBody::from(row)))
}

/// Refuses a request before it leaves its mark, so that it can be changed. Whether there is room is decided when the
/// recovery is made.
async fn refuse_if_full(plane: &ControlPlane, org: OrgId) -> Result<(), Problem> {
    let newest = plane.store.list_recoveries(org, None, NEWEST).await?;
    let running = newest.rows.iter().filter(|row| row.state == "running");
    if running.count() >= RUNNING_MAX as usize {
        return Err(full());
    }
    Ok(())
}

fn full() -> Problem {
    let detail = format!(
        "Your organization already has {RUNNING_MAX} recoveries running. Wait for one to finish, or cancel one."
    );
    Problem::new(ErrorCode::LimitReached, detail)
}

async fn found(plane: &ControlPlane, org: OrgId, id: RecoveryId) -> Result<RecoveryRow, Problem> {
    let row = plane.store.recovery(org, id).await?;
    row.ok_or_else(|| Problem::not_found("recovery"))
}

/// What is asked for, as of `now`: what matches later is not in it.
fn read(rule: RuleId, body: &RecoverBody, now: Timestamp) -> Result<Recoverable, Vec<Fault>> {
    let time = |field: &str, text: &str| {
        let detail = format!("`{field}` must be a time such as 2026-11-15T12:00:00Z.");
        Timestamp::parse(text).ok_or_else(|| vec![Fault::invalid(format!("/{field}"), detail)])
    };
    let since = time("since", &body.since)?;
    let until = body.until.as_deref().map(|text| time("until", text));
    let until = until.transpose()?.unwrap_or(now).min(now);
    if since >= until {
        let detail = "`since` must be before `until`, and in the past.";
        return Err(vec![Fault::invalid("/since", detail)]);
    }
    let mut states = body
        .states
        .clone()
        .unwrap_or_else(|| STATES_DEFAULT.map(str::to_owned).to_vec());
    let recoverable = delivery::State::RECOVERABLE.map(delivery::State::as_str);
    let is_unknown = |state: &String| !recoverable.contains(&state.as_str());
    if states.is_empty() || states.iter().any(is_unknown) {
        let detail = format!(
            "`states` must contain one or more of {}.",
            recoverable.join(", ")
        );
        return Err(vec![Fault::invalid("/states", detail)]);
    }
    states.sort_unstable();
    states.dedup();
    Ok(Recoverable {
        rule,
        since,
        until,
        states,
    })
}

impl RecoverBody {
    /// What the request says. It is stored, so the text of a request never changes.
    fn said_of(&self, recover: RuleId) -> String {
        #[derive(Serialize)]
        struct Said<'b> {
            recover: RuleId,
            body: &'b RecoverBody,
        }
        let said = Said {
            recover,
            body: self,
        };
        serde_json::to_string(&said).expect("plain fields always encode")
    }
}

impl From<RecoveryRow> for RecoveryBody {
    fn from(row: RecoveryRow) -> Self {
        Self {
            id: row.id,
            rule_id: row.wanted.rule,
            state: row.state,
            since: row.wanted.since,
            until: row.wanted.until,
            states: row.wanted.states,
            asked_by: row.asked_by,
            total: row.total,
            done: row.done,
            skipped: row.skipped,
            error: row.error,
            started_at: row.created_at,
            finished_at: row.finished_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_a_request_says_is_stored_as_this_text() {
        let rule = RuleId::from_uuid(Uuid::from_u128(1));
        let said = |body: &str| {
            let body: RecoverBody = serde_json::from_str(body).expect("a body");
            body.said_of(rule)
        };
        assert_eq!(
            said(r#"{"since": "a"}"#),
            format!(r#"{{"recover":"{rule}","body":{{"since":"a","dry_run":false}}}}"#)
        );
        assert_eq!(
            said(r#"{"since": "a", "until": "b", "states": ["held"]}"#),
            format!(
                r#"{{"recover":"{rule}","body":{{"since":"a","until":"b","states":["held"],"dry_run":false}}}}"#
            )
        );
    }
}
