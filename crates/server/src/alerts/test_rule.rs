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

use super::load_inputs;
use crate::{
    edge::{Caller, Problem, caller::RulesWrite, enums::RuleOperator, strict_json::RuleJson},
    planes::ControlPlane,
};

/// A rule and an event; for each, the thing itself or its id.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RuleTrial)]
pub struct TrialBody {
    /// As when creating one; `name` and `url` can be omitted.
    #[schema(value_type = Option<Object>, example = json!({"match": {"result": ["denied"]}}))]
    rule: Option<Map<String, Value>>,
    /// The id of a saved rule, instead of `rule`.
    rule_id: Option<String>,
    /// The event, as sent or as stored; not every field is required.
    #[schema(value_type = Option<Object>, example = json!({"event_type": "tool_call", "result": "denied"}))]
    event: Option<Box<RawValue>>,
    /// The id of a stored event, instead of `event`. Also needs the scope `events:read`.
    event_id: Option<String>,
}

/// What a rule makes of an event.
#[derive(Serialize)]
pub struct TrialAnswer {
    #[serde(flatten)]
    explanation: Explanation,
    /// What would follow, in plain words.
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
    /// Whether `match` holds and none of `except` does.
    matches: bool,
    /// Everything listed in `match`. Of the conditions with the same `path`, one has to pass.
    leaves: Vec<LeafBody>,
    /// The same for each pattern in `except`, in order.
    except: Vec<ExceptionBody>,
    /// What would follow, in plain words.
    then: Vec<String>,
}

/// One condition: a value listed for a field.
#[derive(ToSchema)]
#[schema(as = RuleTrialLeaf)]
#[expect(dead_code, reason = "describes `domain::rule::explain::Leaf`")]
pub struct LeafBody {
    #[schema(example = "metadata.region")]
    path: String,
    /// Which pattern of `$or` it belongs to. Conditions with the same number must all pass together; one of the numbers
    /// is enough.
    or: Option<usize>,
    #[schema(value_type = RuleOperator, example = "prefix")]
    op: String,
    /// Any JSON value.
    wanted: Value,
    /// Any JSON value; absent if the event does not have the field.
    #[schema(required = false)]
    seen: Value,
    pass: bool,
}

/// Whether an exception excludes the event, and why.
#[derive(ToSchema)]
#[schema(as = RuleTrialException)]
#[expect(dead_code, reason = "describes `domain::rule::explain::Exception`")]
pub struct ExceptionBody {
    matches: bool,
    leaves: Vec<LeafBody>,
}

/// Tests a rule on one event.
///
/// Reports whether the rule matches, why or why not for each condition, and what would follow. Nothing is saved,
/// counted or sent.
#[utoipa::path(
    post, path = "/v1/alert-rules/test", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    request_body = TrialBody,
    responses((status = 200, description = "How the rule evaluates it", body = TrialAnswerBody)),
)]
pub async fn test(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    RuleJson(body): RuleJson<TrialBody>,
) -> Result<JsonAnswer<TrialAnswer>, Problem> {
    let rule = load_inputs::rule(&plane, caller.org, body.rule, body.rule_id).await?;
    let json = load_inputs::event(&plane, &caller, body.event, body.event_id).await?;
    // Given or stored, it was read before.
    let event = EventView::parse(&json).unwrap_or_default();
    let explanation = explain(&rule.definition, &event);
    let then = what_follows(&rule.definition, explanation.matches, plane.clock.now());
    Ok(JsonAnswer(TrialAnswer { explanation, then }))
}

/// What would become of the event once the rule has judged it.
fn what_follows(rule: &Definition, matches: bool, now: Timestamp) -> Vec<String> {
    if !matches {
        return vec!["Nothing: the rule does not match this event.".to_owned()];
    }
    if !rule.enabled {
        return vec!["Nothing, as long as the rule is disabled.".to_owned()];
    }
    let mut follows = Vec::new();
    follows.extend(rule.threshold.as_ref().map(counted));
    follows.extend(rule.suppress.as_ref().map(kept_back));
    let snoozed = rule.snoozed_until.filter(|until| now < *until);
    follows.push(match (rule.shadow, snoozed) {
        (true, _) => "The alert is recorded but not sent: the rule is in shadow mode.".to_owned(),
        (false, Some(until)) => {
            format!("The alert is recorded but not sent: the rule is snoozed until {until}.")
        }
        (false, None) if rule.url == load_inputs::UNSAVED_URL => "The alert is sent.".to_owned(),
        (false, None) => format!("The alert is sent to {}.", rule.url),
    });
    follows
}

fn counted(threshold: &Threshold) -> String {
    format!(
        "It counts toward the threshold: an alert is raised only by the match that makes it {} within {} s{}.",
        threshold.count,
        threshold.window_s,
        apart(&threshold.group_by),
    )
}

fn kept_back(suppress: &Suppress) -> String {
    format!(
        "An alert within {} s of the previous one is suppressed{}; it is still recorded.",
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
        format!(", separately for each {}", names.join(" and "))
    }
}
