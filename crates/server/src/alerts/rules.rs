//! `/v1/alert-rules`: what an organisation watches for, and where the alerts go.

use axum::{Json as JsonAnswer, extract::State, http::StatusCode};
use domain::{
    OrgId, RuleId, Timestamp,
    error_code::ErrorCode,
    fault::{Fault, FaultCode},
    rule::{
        Definition, Pattern, Rule,
        definition::{DESCRIPTION_MAX, NAME_MAX},
    },
};
use journal::config::Change;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::rules::RULES_MAX;
use utoipa::ToSchema;

use crate::{
    announce, chance,
    edge::{
        Caller, Problem,
        caller::{RulesRead, RulesWrite},
        problem::Refusals,
        read::{IdInPath, Json, PageParams, PageWanted, cursor},
    },
    planes::ControlPlane,
};

/// A rule to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRule {
    /// 1 to 128 characters; carried in every webhook as `rule_name`.
    name: String,
    description: Option<String>,
    #[serde(default = "yes")]
    #[schema(default = true)]
    enabled: bool,
    /// Fields are ANDed, the values listed for a field are ORed; `{}` matches every event.
    #[schema(value_type = Object, example = json!({"event_type": ["tool_call"], "result": ["denied"]}))]
    r#match: Value,
    /// Where the webhooks go.
    #[schema(example = "https://example.com/hooks/watchbell")]
    url: String,
}

fn yes() -> bool {
    true
}

/// An alert rule.
#[derive(Serialize, ToSchema)]
pub struct RuleBody {
    #[schema(value_type = String, example = "rul_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: RuleId,
    name: String,
    description: Option<String>,
    enabled: bool,
    #[schema(value_type = Object)]
    r#match: Value,
    url: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    version: u32,
}

/// One page of rules.
#[derive(Serialize, ToSchema)]
pub struct RulePage {
    data: Vec<RuleBody>,
    next_cursor: Option<String>,
}

/// Makes an alert rule.
///
/// Once this returns, the rule judges every event that is accepted afterwards.
#[utoipa::path(
    post, path = "/v1/alert-rules", tag = "alert rules", security(("api_key" = ["rules:write"]), ("session" = [])),
    request_body = NewRule,
    responses(
        (status = 201, description = "Made, and in effect", body = RuleBody),
        Refusals,
    ),
)]
pub async fn create(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    Json(new): Json<NewRule>,
) -> Result<(StatusCode, JsonAnswer<RuleBody>), Problem> {
    let pattern = checked(&plane, &new)?;
    let now = plane.clock.now();
    let rule = Rule {
        id: RuleId::new(now, chance::bytes()),
        org_id: caller.org,
        definition: definition(new, pattern),
        created_at: now,
        updated_at: now,
        version: 1,
        counts_since: 1,
    };
    let announcement = announce::entry(Change::rule_saved(&rule));
    if !plane.store.create_rule(&rule, &announcement).await? {
        let detail = format!("Your organisation has {RULES_MAX} rules; delete some first.");
        return Err(Problem::new(ErrorCode::LimitReached, detail));
    }
    announce_rule(&plane, rule.id).await?;
    Ok((StatusCode::CREATED, JsonAnswer(RuleBody::from(rule))))
}

/// Replaces an alert rule.
///
/// Once this returns, events that are accepted afterwards are judged by the rule as it is now.
#[utoipa::path(
    put, path = "/v1/alert-rules/{id}", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(("id" = String, Path, description = "The rule's id")),
    request_body = NewRule,
    responses(
        (status = 200, description = "Replaced, and in effect", body = RuleBody),
        Refusals,
    ),
)]
pub async fn replace(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<RuleId>,
    Json(new): Json<NewRule>,
) -> Result<JsonAnswer<RuleBody>, Problem> {
    let current = found(&plane, caller.org, id).await?;
    change(&plane, current, new).await
}

/// Changes some fields of an alert rule.
///
/// A field that is given replaces the rule's whole field, `match` too; null stands for its default, where it has one.
#[utoipa::path(
    patch, path = "/v1/alert-rules/{id}", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(("id" = String, Path, description = "The rule's id")),
    request_body(content = Object, description = "Any of the fields of a new rule"),
    responses(
        (status = 200, description = "Changed, and in effect", body = RuleBody),
        Refusals,
    ),
)]
pub async fn update(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<RuleId>,
    Json(fields): Json<Map<String, Value>>,
) -> Result<JsonAnswer<RuleBody>, Problem> {
    let current = found(&plane, caller.org, id).await?;
    let was = &current.definition;
    let mut merged = Map::from_iter([
        ("name".to_owned(), Value::from(was.name.clone())),
        (
            "description".to_owned(),
            Value::from(was.description.clone()),
        ),
        ("enabled".to_owned(), Value::from(was.enabled)),
        ("match".to_owned(), was.pattern.source().clone()),
        ("url".to_owned(), Value::from(was.url.clone())),
    ]);
    merged.extend(fields);
    merged.retain(|_, value| !value.is_null());
    let new = serde_json::from_value(Value::Object(merged))
        .map_err(|error| Problem::new(ErrorCode::InvalidBody, format!("{error}.")))?;
    change(&plane, current, new).await
}

/// Deletes an alert rule.
///
/// Once this returns, it judges no event that is accepted afterwards. What it matched before is still
/// delivered.
#[utoipa::path(
    delete, path = "/v1/alert-rules/{id}", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    params(("id" = String, Path, description = "The rule's id")),
    responses(
        (status = 204, description = "Deleted"),
        Refusals,
    ),
)]
pub async fn delete(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    IdInPath(id): IdInPath<RuleId>,
) -> Result<StatusCode, Problem> {
    let announcement = announce::entry(Change::rule_gone(caller.org, id));
    if !plane
        .store
        .delete_rule(caller.org, id, &announcement)
        .await?
    {
        return Err(Problem::not_found("alert rule"));
    }
    plane
        .announce(|| {
            format!("The rule {id} is deleted, but goes on judging until the journal is back.")
        })
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists alert rules, newest first.
#[utoipa::path(
    get, path = "/v1/alert-rules", tag = "alert rules", security(("api_key" = ["rules:read"]), ("session" = [])),
    params(PageParams),
    responses(
        (status = 200, description = "One page", body = RulePage),
        Refusals,
    ),
)]
pub async fn list(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesRead>,
    page: PageWanted<RuleId>,
) -> Result<JsonAnswer<RulePage>, Problem> {
    let page = plane
        .store
        .list_rules(caller.org, page.before, page.limit)
        .await?;
    let data = page.rows.into_iter().map(RuleBody::from).collect();
    Ok(JsonAnswer(RulePage {
        data,
        next_cursor: page.next.as_ref().map(cursor),
    }))
}

/// Shows one alert rule.
#[utoipa::path(
    get, path = "/v1/alert-rules/{id}", tag = "alert rules", security(("api_key" = ["rules:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The rule's id")),
    responses(
        (status = 200, description = "The rule", body = RuleBody),
        Refusals,
    ),
)]
pub async fn show(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesRead>,
    IdInPath(id): IdInPath<RuleId>,
) -> Result<JsonAnswer<RuleBody>, Problem> {
    let rule = found(&plane, caller.org, id).await?;
    Ok(JsonAnswer(RuleBody::from(rule)))
}

async fn found(plane: &ControlPlane, org: OrgId, id: RuleId) -> Result<Rule, Problem> {
    let rule = plane.store.rule(org, id).await?;
    rule.ok_or_else(|| Problem::not_found("alert rule"))
}

/// Saves and announces the next version of a rule.
async fn change(
    plane: &ControlPlane,
    current: Rule,
    new: NewRule,
) -> Result<JsonAnswer<RuleBody>, Problem> {
    let pattern = checked(plane, &new)?;
    let definition = definition(new, pattern);
    let version = current.version + 1;
    let counts_since = if definition.counts_like(&current.definition) {
        current.counts_since
    } else {
        version
    };
    let rule = Rule {
        definition,
        updated_at: plane.clock.now(),
        version,
        counts_since,
        ..current
    };
    let announcement = announce::entry(Change::rule_saved(&rule));
    if !plane.store.replace_rule(&rule, &announcement).await? {
        return Err(Problem::new(
            ErrorCode::Conflict,
            ErrorCode::Conflict.what_to_do(),
        ));
    }
    announce_rule(plane, rule.id).await?;
    Ok(JsonAnswer(RuleBody::from(rule)))
}

async fn announce_rule(plane: &ControlPlane, rule: RuleId) -> Result<(), Problem> {
    let saved = || {
        format!(
            "The rule {rule} was saved and takes effect once the journal is back. Do not send it \
             again; GET /v1/alert-rules/{rule} shows it."
        )
    };
    plane.announce(saved).await
}

fn definition(new: NewRule, pattern: Pattern) -> Definition {
    Definition {
        description: new.description,
        enabled: new.enabled,
        ..Definition::plain(new.name, pattern, new.url)
    }
}

/// Everything that is wrong with a new rule, or its pattern.
fn checked(plane: &ControlPlane, new: &NewRule) -> Result<Pattern, Problem> {
    let mut faults = Vec::new();
    faults.extend(Fault::of_name(&new.name, NAME_MAX));
    if new
        .description
        .as_ref()
        .is_some_and(|text| text.chars().count() > DESCRIPTION_MAX || text.contains('\0'))
    {
        let detail = format!("`description` is at most {DESCRIPTION_MAX} characters.");
        faults.push(Fault::new(FaultCode::FieldTooLong, "/description", detail));
    }
    if let Err(refusal) = plane.targets.parse(&new.url) {
        faults.push(Fault::invalid("/url", refusal.to_string()));
    }
    match Pattern::parse(new.r#match.clone()) {
        Ok(pattern) if faults.is_empty() => return Ok(pattern),
        Ok(_) => {}
        Err(fault) => faults.push(fault),
    }
    Err(Problem::invalid(faults))
}

impl From<Rule> for RuleBody {
    fn from(rule: Rule) -> Self {
        Self {
            id: rule.id,
            name: rule.definition.name,
            description: rule.definition.description,
            enabled: rule.definition.enabled,
            r#match: rule.definition.pattern.into(),
            url: rule.definition.url,
            created_at: rule.created_at,
            updated_at: rule.updated_at,
            version: rule.version,
        }
    }
}
