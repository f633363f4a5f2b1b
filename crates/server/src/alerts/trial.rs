//! `POST /v1/alert-rules/test`: whether a rule matches an event, why or why not, and what would follow.

use axum::{Json as JsonAnswer, extract::State};
use domain::{
    Timestamp,
    event::EventView,
    rule::{
        Definition,
        definition::{GroupField, Suppress, Threshold},
        explain::{Explanation, explain},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use utoipa::ToSchema;

use super::given;
use crate::{
    edge::{Caller, Problem, caller::RulesWrite, problem::Refusals, strict_json::RuleJson},
    planes::ControlPlane,
};

/// A rule and an event, each given or named.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RuleTrial)]
pub struct TrialBody {
    /// As for making one; `name` and `url` may be missing.
    #[schema(value_type = Option<Object>, example = json!({"match": {"result": ["denied"]}}))]
    rule: Option<Map<String, Value>>,
    /// A saved rule instead.
    rule_id: Option<String>,
    /// As sent or as stored; it need not have every field.
    #[schema(value_type = Option<Object>, example = json!({"event_type": "tool_call", "result": "denied"}))]
    event: Option<Box<RawValue>>,
    /// A stored event instead.
    event_id: Option<String>,
}

/// What a rule makes of an event.
#[derive(Serialize)]
pub struct TrialAnswer {
    #[serde(flatten)]
    explanation: Explanation,
    /// What would follow, in words.
    then: Vec<String>,
}

/// What a rule makes of an event.
#[derive(ToSchema)]
#[schema(as = RuleTrialResult)]
#[expect(
    dead_code,
    reason = "describes the body; `Explanation` is what is written"
)]
pub struct TrialAnswerBody {
    /// `match` holds, and none of `except`.
    matches: bool,
    /// Everything that is listed in `match`. Of those with the same `path` one has to pass.
    leaves: Vec<LeafBody>,
    /// The same for each of `except`, in order.
    except: Vec<ExceptionBody>,
    /// What would follow, in words.
    then: Vec<String>,
}

/// One thing listed for a field.
#[derive(ToSchema)]
#[schema(as = RuleTrialLeaf)]
#[expect(dead_code, reason = "describes `domain::rule::explain::Leaf`")]
pub struct LeafBody {
    #[schema(example = "metadata.region")]
    path: String,
    /// Which pattern of `$or` it belongs to: those with the same number have to pass together, and of the
    /// numbers one.
    or: Option<usize>,
    #[schema(example = "prefix")]
    op: String,
    /// Any JSON value.
    wanted: Value,
    /// Any JSON value; not there if the event does not have the field.
    #[schema(required = false)]
    seen: Value,
    pass: bool,
}

/// Whether an exception rules the event out, and why.
#[derive(ToSchema)]
#[schema(as = RuleTrialException)]
#[expect(dead_code, reason = "describes `domain::rule::explain::Exception`")]
pub struct ExceptionBody {
    matches: bool,
    leaves: Vec<LeafBody>,
}

/// Tries a rule on an event.
///
/// Says whether it matches, for each condition why or why not, and what would follow. Nothing is saved,
/// counted or sent.
#[utoipa::path(
    post, path = "/v1/alert-rules/test", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    request_body = TrialBody,
    responses((status = 200, description = "What the rule makes of it", body = TrialAnswerBody), Refusals),
)]
pub async fn test(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    RuleJson(body): RuleJson<TrialBody>,
) -> Result<JsonAnswer<TrialAnswer>, Problem> {
    let rule = given::rule(&plane, caller.org, body.rule, body.rule_id).await?;
    let json = given::event(&plane, caller.org, body.event, body.event_id).await?;
    // Given or stored, it was read before.
    let event = EventView::parse(&json).unwrap_or_default();
    let explanation = explain(&rule.definition, &event);
    let then = what_follows(&rule.definition, explanation.matches, plane.clock.now());
    Ok(JsonAnswer(TrialAnswer { explanation, then }))
}

/// What would become of the event once the rule has judged it.
fn what_follows(rule: &Definition, matches: bool, now: Timestamp) -> Vec<String> {
    if !matches {
        return vec!["Nothing: the rule does not want this event.".to_owned()];
    }
    if !rule.enabled {
        return vec!["Nothing, as long as the rule is disabled.".to_owned()];
    }
    let mut follows = Vec::new();
    follows.extend(rule.threshold.as_ref().map(counted));
    follows.extend(rule.suppress.as_ref().map(kept_back));
    let snoozed = rule.snoozed_until.filter(|until| now < *until);
    follows.push(match (rule.shadow, snoozed) {
        (true, _) => {
            "The alert is put on record and not sent: the rule is in shadow mode.".to_owned()
        }
        (false, Some(until)) => {
            format!("The alert is put on record and not sent: the rule is snoozed until {until}.")
        }
        (false, None) if rule.url == given::UNSAVED_URL => "The alert is sent.".to_owned(),
        (false, None) => format!("The alert is sent to {}.", rule.url),
    });
    follows
}

fn counted(threshold: &Threshold) -> String {
    format!(
        "It counts towards the threshold: an alert follows only with the match that makes it {} within {} s{}.",
        threshold.count,
        threshold.window_s,
        apart(&threshold.group_by),
    )
}

fn kept_back(suppress: &Suppress) -> String {
    format!(
        "An alert within {} s of the one before is kept back{}; it stays on record.",
        suppress.for_s,
        apart(&suppress.group_by),
    )
}

fn apart(fields: &[GroupField]) -> String {
    let names: Vec<String> = fields
        .iter()
        .map(|field| format!("`{}`", field.0))
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(", apart for each {}", names.join(" and "))
    }
}
