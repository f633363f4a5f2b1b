//! `/v1/alert-rules`: what an organization watches for, and where the alerts go.

use axum::{
    Json as JsonAnswer,
    extract::State,
    http::{HeaderName, StatusCode},
    response::{IntoResponse, Response},
};
use domain::{OrgId, RuleId, error_code::ErrorCode, rule::Rule};
use runtime::random;
use serde_json::Value;
use store::{rule_counts::RuleStats, rules::read::StoredRule};

use super::{
    body::{NewRule, RuleBody, RulePage},
    change::{Author, found, read_definition, read_next},
    query::{RuleParams, RulesQuery},
};
use crate::{
    edge::{
        Caller, Problem,
        caller::{RulesRead, RulesWrite},
        extract::{Fields, IdInPath, cursor},
        idempotency_key::{IdempotencyKey, REPLAYED},
        idempotent_request::Asking,
        if_match::{IfMatch, etag},
        strict_json::RuleJson,
    },
    planes::ControlPlane,
};

/// A rule and, in `ETag`, its version.
type RuleAnswer = ([(HeaderName, String); 1], JsonAnswer<RuleBody>);

/// Creates an alert rule.
///
/// Once this returns, the rule applies to every event accepted from then on.
#[utoipa::path(
    post, path = "/v1/alert-rules", tag = "alert rules", security(("api_key" = ["rules:write"]), ("session" = [])),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "A unique key for this request: up to 128 printable ASCII characters. If you send the request again with the same key within 24 hours, it returns the rule that it created and creates no second one; with a different body it is refused (`IDEMPOTENCY_MISMATCH`)"),
    ),
    request_body = NewRule,
    responses(
        (status = 201, description = "Created and in effect", body = RuleBody, headers(
            ("ETag" = String, description = "The version, for `If-Match`"),
            ("Idempotency-Replayed" = Option<bool>, description = "`true` if a request with this `Idempotency-Key` was already received; the rule is returned as it is now"),
        )),
    ),
)]
pub async fn create(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    key: IdempotencyKey,
    RuleJson(Fields(fields)): RuleJson<Fields>,
) -> Result<Response, Problem> {
    let name = key.name(&caller)?;
    let source = Value::Object(fields);
    let said = source.to_string();
    let definition = read_definition(&plane, source)?;
    let mut asking = Asking::new(name, &said, plane.clock.now());
    asking.mark(&plane.journal).await?;
    let at = asking.at();
    let id = match asking.name() {
        None => RuleId::new(at, random::bytes()),
        Some(name) => name.rule_id(at),
    };
    let author = Author::of(&plane, &caller);
    if let Some(made) = author
        .create(Rule::new(id, caller.org, definition, at))
        .await?
    {
        return Ok((StatusCode::CREATED, answer(made, None)).into_response());
    }
    author.announce(id).await?;
    let Some(made) = plane.store.rule(caller.org, id).await? else {
        let detail = format!("This request created the rule {id}, which has since been deleted.");
        return Err(Problem::new(ErrorCode::NotFound, detail));
    };
    let answer = answer(made, stats(&plane, caller.org, id).await?);
    Ok((StatusCode::CREATED, [(REPLAYED, "true")], answer).into_response())
}

/// Replaces an alert rule.
///
/// Once this returns, the new rule applies to every event accepted from then on. A request that changes nothing creates
/// no version.
#[utoipa::path(
    put, path = "/v1/alert-rules/{id}", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(
        ("id" = String, Path, description = "The rule's id"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the rule as you read it; if the rule has changed since, nothing is written (412)"),
    ),
    request_body = NewRule,
    responses(
        (status = 200, description = "Replaced and in effect", body = RuleBody, headers(
            ("ETag" = String, description = "The version, for `If-Match`"),
        )),
    ),
)]
pub async fn replace(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<RuleId>,
    condition: IfMatch,
    RuleJson(Fields(fields)): RuleJson<Fields>,
) -> Result<RuleAnswer, Problem> {
    let current = found(&plane, caller.org, id).await?;
    condition.check("alert rule", current.rule.version)?;
    let definition = read_next(&plane, &current.rule.definition, Value::Object(fields))?;
    let stats = stats(&plane, caller.org, id).await?;
    let author = Author::of(&plane, &caller);
    let changed = author.replace(current, definition, &condition).await?;
    Ok(answer(changed, stats))
}

/// Changes some fields of an alert rule.
///
/// Each field you send replaces the whole field of the rule, including `match`; null resets a field to its default, if
/// it has one.
#[utoipa::path(
    patch, path = "/v1/alert-rules/{id}", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(
        ("id" = String, Path, description = "The rule's id"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the rule as you read it; if the rule has changed since, nothing is written (412)"),
    ),
    request_body(content = Object, description = "Any of the fields of a new rule"),
    responses(
        (status = 200, description = "Changed and in effect", body = RuleBody, headers(
            ("ETag" = String, description = "The version, for `If-Match`"),
        )),
    ),
)]
pub async fn update(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<RuleId>,
    condition: IfMatch,
    RuleJson(Fields(fields)): RuleJson<Fields>,
) -> Result<RuleAnswer, Problem> {
    let current = found(&plane, caller.org, id).await?;
    condition.check("alert rule", current.rule.version)?;
    let was = serde_json::to_value(&current.rule.definition);
    let mut merged = was.expect("a definition always encodes");
    for (field, value) in fields {
        merged[field] = value;
    }
    let definition = read_next(&plane, &current.rule.definition, merged)?;
    let stats = stats(&plane, caller.org, id).await?;
    let author = Author::of(&plane, &caller);
    let changed = author.replace(current, definition, &condition).await?;
    Ok(answer(changed, stats))
}

/// Deletes an alert rule.
///
/// Once this returns, the rule no longer applies to events accepted from then on. Deliveries that are still waiting are
/// canceled (`rule_deleted`); an attempt already in progress is not interrupted. The rule's versions are kept for as
/// long as events are.
#[utoipa::path(
    delete, path = "/v1/alert-rules/{id}", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(
        ("id" = String, Path, description = "The rule's id"),
        ("If-Match" = Option<String>, Header, description = "The `ETag` of the rule as you read it; if the rule has changed since, nothing is deleted (412)"),
    ),
    responses(
        (status = 204, description = "Deleted"),
    ),
)]
pub async fn delete(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<RuleId>,
    condition: IfMatch,
) -> Result<StatusCode, Problem> {
    let current = found(&plane, caller.org, id).await?;
    let author = Author::of(&plane, &caller);
    author.delete(current, &condition).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists alert rules, newest first.
#[utoipa::path(
    get, path = "/v1/alert-rules", tag = "alert rules", security(("api_key" = ["rules:read"]), ("session" = [])),
    params(RuleParams),
    responses(
        (status = 200, description = "One page", body = RulePage),
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesRead>,
    wanted: RulesQuery,
) -> Result<JsonAnswer<RulePage>, Problem> {
    let page = plane
        .store
        .list_rules(caller.org, &wanted.filter, wanted.before, wanted.limit)
        .await?;
    let ids: Vec<RuleId> = page.rows.iter().map(|stored| stored.rule.id).collect();
    let now = plane.clock.now();
    let stats = plane.store.rule_stats(caller.org, &ids, now).await?;
    let body = |stored: StoredRule| {
        let stats = stats.get(&stored.rule.id).copied();
        RuleBody::new(stored, stats)
    };
    Ok(JsonAnswer(RulePage {
        data: page.rows.into_iter().map(body).collect(),
        next_cursor: page.next.as_ref().map(cursor),
    }))
}

/// Returns one alert rule.
#[utoipa::path(
    get, path = "/v1/alert-rules/{id}", tag = "alert rules", security(("api_key" = ["rules:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The rule's id")),
    responses(
        (status = 200, description = "The rule", body = RuleBody, headers(
            ("ETag" = String, description = "The version, for `If-Match`"),
        )),
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesRead>,
    IdInPath(id): IdInPath<RuleId>,
) -> Result<RuleAnswer, Problem> {
    let rule = found(&plane, caller.org, id).await?;
    Ok(answer(rule, stats(&plane, caller.org, id).await?))
}

/// What a rule did lately. Read before it is changed: after that nothing may fail that makes a client
/// send the change again.
async fn stats(plane: &ControlPlane, org: OrgId, id: RuleId) -> Result<Option<RuleStats>, Problem> {
    let now = plane.clock.now();
    let mut stats = plane.store.rule_stats(org, &[id], now).await?;
    Ok(stats.remove(&id))
}

fn answer(stored: StoredRule, stats: Option<RuleStats>) -> RuleAnswer {
    let body = RuleBody::new(stored, stats);
    (etag(body.version), JsonAnswer(body))
}
