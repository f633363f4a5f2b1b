//! `POST /v1/alert-rules/preview`: what a rule makes of the newest events, each with why or why not.

use axum::{Json as JsonAnswer, extract::State};
use domain::{
    event::{EventView, Filter},
    fault::Fault,
    rule::explain::{Explanation, explain},
};
use journal::streams::Log;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use store::events::{EventsQuery, Order};
use utoipa::ToSchema;

use super::{
    load_inputs,
    test_rule::{ExceptionBody, LeafBody},
};
use crate::{
    edge::{Caller, Problem, caller::RulesWrite, strict_json::RuleJson},
    events::schema::Event,
    planes::ControlPlane,
};

/// How many events a rule is tried on unless asked otherwise, and at most: what people look through while they
/// write a rule.
const EVENTS_DEFAULT: u32 = 50;
const EVENTS_MAX: u32 = 100;

/// A rule: the rule itself, or its id.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RulePreview)]
pub struct PreviewBody {
    /// As when creating one; `name` and `url` can be omitted.
    #[schema(value_type = Option<Object>, example = json!({"match": {"result": ["denied"]}}))]
    rule: Option<Map<String, Value>>,
    /// The id of a saved rule, instead of `rule`.
    rule_id: Option<String>,
    /// How many of the newest events to test the rule on: 1 to 100 (default 50).
    limit: Option<u32>,
    /// The id of one more event to test it on, however old: the one that the rule is written for.
    event_id: Option<String>,
}

/// How a rule evaluates the newest events.
#[derive(Serialize, ToSchema)]
#[schema(as = RulePreviewResult)]
pub struct PreviewAnswer {
    /// How many of them it matches.
    matched: usize,
    /// Newest first.
    #[schema(value_type = Vec<PreviewedEventBody>)]
    events: Vec<PreviewedEvent>,
    /// The event that was named; it is not counted in `matched`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PreviewedEventBody>)]
    named: Option<PreviewedEvent>,
}

#[derive(Serialize)]
pub struct PreviewedEvent {
    event: Box<RawValue>,
    #[serde(flatten)]
    explanation: Explanation,
}

/// How a rule evaluates an event.
#[derive(ToSchema)]
#[schema(as = RulePreviewEvent)]
#[expect(
    dead_code,
    reason = "describes the body; `Explanation` is what is written"
)]
pub struct PreviewedEventBody {
    event: Event,
    /// Whether `match` holds and none of `except` does.
    matches: bool,
    /// Everything listed in `match`. Of the conditions with the same `path`, one has to pass.
    leaves: Vec<LeafBody>,
    /// The same for each pattern in `except`, in order.
    except: Vec<ExceptionBody>,
}

/// Tests a rule on the newest events.
///
/// Reports for each event whether the rule matches, and why or why not for each condition. Nothing is saved, counted or
/// sent. Also needs the scope `events:read`.
#[utoipa::path(
    post, path = "/v1/alert-rules/preview", tag = "alert rules",
    security(("api_key" = ["rules:write", "events:read"]), ("session" = [])),
    request_body = PreviewBody,
    responses((status = 200, description = "How the rule evaluates them", body = PreviewAnswer)),
)]
pub async fn preview(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    RuleJson(body): RuleJson<PreviewBody>,
) -> Result<JsonAnswer<PreviewAnswer>, Problem> {
    load_inputs::may_see_events(&caller)?;
    let limit = body.limit.unwrap_or(EVENTS_DEFAULT);
    if !(1..=EVENTS_MAX).contains(&limit) {
        let detail = format!("`limit` must be a number from 1 to {EVENTS_MAX}.");
        return Err(Problem::invalid(vec![Fault::invalid("/limit", detail)]));
    }
    let rule = load_inputs::rule(&plane, caller.org, body.rule, body.rule_id).await?;
    let named = match &body.event_id {
        Some(id) => Some(load_inputs::stored(&plane, &caller, id).await?.1),
        None => None,
    };
    plane.wait_until_fresh(caller.org, Log::Events).await?;
    let wanted = EventsQuery {
        filter: Filter::default(),
        order: Order::NewestFirst,
        after: None,
        limit,
    };
    let store = plane.store.clone();
    let query = async move { store.list_events(caller.org, &wanted).await };
    let found = plane.searches.run(caller.org, query).await?;
    let tried = |json: String| {
        // What is stored was read before.
        let view = EventView::parse(&json).unwrap_or_default();
        let explanation = explain(&rule.definition, &view);
        let event = RawValue::from_string(json).ok()?;
        Some(PreviewedEvent { event, explanation })
    };
    let events = found
        .rows
        .into_iter()
        .filter_map(|stored| tried(stored.json));
    let events: Vec<PreviewedEvent> = events.collect();
    Ok(JsonAnswer(PreviewAnswer {
        matched: events.iter().filter(|one| one.explanation.matches).count(),
        events,
        named: named.and_then(tried),
    }))
}
