//! `POST /v1/alert-rules/{id}/backtest` and `/v1/alert-rules/backtest`: what it takes before the first line.

use std::time::Duration;

use axum::{extract::State, response::Response};
use domain::{
    OrgId, RuleId, Timestamp,
    error_code::ErrorCode,
    event::Filter,
    fault::Fault,
    rule::{Rule, backtest::Backtest, narrow::narrowed},
};
use journal::streams::Log;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    super::load_inputs,
    progress::{self, LastLine},
};
use crate::{
    edge::{
        Caller, Problem, caller::RulesWrite, extract::IdInPath, recheck_auth::AuthRecheck,
        strict_json::RuleJson,
    },
    exports::plan::Plan,
    planes::ControlPlane,
};

/// How far back a backtest looks unless it is told.
const USUAL: Duration = Duration::from_hours(24);

/// The part of the trail to run a rule against.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BacktestRange)]
pub struct RangeBody {
    /// Events that occurred at or after this time; by default 24 hours before `to`, or before now.
    #[schema(format = DateTime)]
    from: Option<String>,
    /// Events that occurred before this time; by default there is no end.
    #[schema(format = DateTime)]
    to: Option<String>,
}

/// An unsaved rule, and the part of the trail to run it against.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BacktestUnsaved)]
pub struct UnsavedBody {
    /// As when creating one; `name` and `url` can be omitted.
    #[schema(value_type = Object, example = json!({"match": {"result": ["denied"]}}))]
    rule: Map<String, Value>,
    #[schema(format = DateTime)]
    from: Option<String>,
    #[schema(format = DateTime)]
    to: Option<String>,
}

/// Backtests a saved rule: reports what it would have done.
///
/// The rule is run against stored events, even if it is disabled, and nothing is sent. The response is lines of JSON:
/// the progress, about every second, and in the last line (`"done": true`) the result, with some of the events. A response
/// without that line was cut short. Also needs the scope `events:read`.
#[utoipa::path(
    post, path = "/v1/alert-rules/{id}/backtest", tag = "alert rules",
    security(("api_key" = ["rules:write", "events:read"]), ("session" = [])),
    params(("id" = String, Path, description = "The rule's id")),
    request_body = RangeBody,
    responses(
        (status = 200, description = "The last line; every other line is a `BacktestProgress`", body = LastLine, content_type = "application/x-ndjson"),
    ),
)]
pub async fn saved(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    standing: AuthRecheck<RulesWrite>,
    IdInPath(id): IdInPath<RuleId>,
    RuleJson(range): RuleJson<RangeBody>,
) -> Result<Response, Problem> {
    load_inputs::may_see_events(&caller)?;
    let rule = load_inputs::saved(&plane, caller.org, id).await?;
    begin(plane, standing, rule, &range).await
}

/// Backtests an unsaved rule: reports what it would have done.
///
/// Works like the backtest of a saved rule, and needs the same scopes.
#[utoipa::path(
    post, path = "/v1/alert-rules/backtest", tag = "alert rules",
    security(("api_key" = ["rules:write", "events:read"]), ("session" = [])),
    request_body = UnsavedBody,
    responses(
        (status = 200, description = "The last line; every other line is a `BacktestProgress`", body = LastLine, content_type = "application/x-ndjson"),
    ),
)]
pub async fn unsaved(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    standing: AuthRecheck<RulesWrite>,
    RuleJson(body): RuleJson<UnsavedBody>,
) -> Result<Response, Problem> {
    load_inputs::may_see_events(&caller)?;
    let rule = load_inputs::unsaved(&plane, caller.org, body.rule)?;
    let range = RangeBody {
        from: body.from,
        to: body.to,
    };
    begin(plane, standing, rule, &range).await
}

async fn begin(
    plane: ControlPlane,
    standing: AuthRecheck<RulesWrite>,
    rule: Rule,
    range: &RangeBody,
) -> Result<Response, Problem> {
    let (from, to) = bounds(range, plane.clock.now(), plane.retention)?;
    let slot = plane.backtests.take(rule.org_id)?;
    let filter = Filter {
        from: Some(from),
        to,
        ..narrowed(&rule.definition.pattern)
    };
    let plan = plan(&plane, rule.org_id, filter).await?;
    Ok(progress::answer(
        plane,
        plan,
        Backtest::new(rule),
        standing,
        slot,
    ))
}

pub(crate) async fn plan(
    plane: &ControlPlane,
    org: OrgId,
    filter: Filter,
) -> Result<Plan, Problem> {
    if !plane.wait_until_fresh(org, Log::Events).await? {
        let detail = "The index is behind the journal, so a backtest would miss events. Try again.";
        return Err(Problem::new(ErrorCode::StoreUnavailable, detail));
    }
    Ok(Plan::make(&plane.store, org, filter).await?)
}

/// From when, and until when if that was said.
pub(crate) fn bounds(
    range: &RangeBody,
    now: Timestamp,
    retention: Duration,
) -> Result<(Timestamp, Option<Timestamp>), Problem> {
    let moment = |name: &str, text: &Option<String>| {
        let read = text.as_deref().map(|text| {
            Timestamp::parse(text).ok_or_else(|| {
                let detail = format!(
                    "`{name}` must be an RFC 3339 date-time such as 2026-11-15T09:30:00.000Z."
                );
                invalid(name, detail)
            })
        });
        read.transpose()
    };
    let to = moment("to", &range.to)?;
    let end = to.unwrap_or(now);
    let from = moment("from", &range.from)?.unwrap_or_else(|| end.minus(USUAL));
    if end <= from {
        return Err(invalid("from", "`from` must be before `to`."));
    }
    if end.since(from) > retention {
        let days = retention.as_secs() / (24 * 3600);
        let detail =
            format!("A backtest covers at most {days} days, which is how long events are kept.");
        return Err(invalid("from", detail));
    }
    Ok((from, to))
}

fn invalid(name: &str, detail: impl Into<String>) -> Problem {
    Problem::invalid(vec![Fault::invalid(format!("/{name}"), detail)])
}
