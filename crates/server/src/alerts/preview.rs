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
use store::events::{EventsWanted, Order};
use utoipa::ToSchema;

use super::{
    given,
    trial::{ExceptionBody, LeafBody},
};
use crate::{
    edge::{Caller, Problem, caller::RulesWrite, problem::Refusals, strict_json::RuleJson},
    events::schema::Event,
    planes::ControlPlane,
};

/// How many events a rule is tried on unless asked otherwise, and at most: what people look through while they
/// write a rule.
const EVENTS_DEFAULT: u32 = 50;
const EVENTS_MAX: u32 = 100;

/// A rule, given or named.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RulePreview)]
pub struct PreviewBody {
    /// As for making one; `name` and `url` may be missing.
    #[schema(value_type = Option<Object>, example = json!({"match": {"result": ["denied"]}}))]
    rule: Option<Map<String, Value>>,
    /// A saved rule instead.
    rule_id: Option<String>,
    /// How many of the newest events it is tried on: 1 to 100 (50).
    limit: Option<u32>,
}

/// What a rule makes of the newest events.
#[derive(Serialize, ToSchema)]
#[schema(as = RulePreviewResult)]
pub struct PreviewAnswer {
    /// How many of them it wants.
    matched: usize,
    /// Newest first.
    #[schema(value_type = Vec<PreviewedEventBody>)]
    events: Vec<PreviewedEvent>,
}

#[derive(Serialize)]
pub struct PreviewedEvent {
    event: Box<RawValue>,
    #[serde(flatten)]
    explanation: Explanation,
}

/// What a rule makes of an event.
#[derive(ToSchema)]
#[schema(as = RulePreviewEvent)]
#[expect(
    dead_code,
    reason = "describes the body; `Explanation` is what is written"
)]
pub struct PreviewedEventBody {
    event: Event,
    /// `match` holds, and none of `except`.
    matches: bool,
    /// Everything that is listed in `match`. Of those with the same `path` one has to pass.
    leaves: Vec<LeafBody>,
    /// The same for each of `except`, in order.
    except: Vec<ExceptionBody>,
}

/// Tries a rule on the newest events.
///
/// Says of each whether it matches, and for each condition why or why not. Nothing is saved, counted or sent.
#[utoipa::path(
    post, path = "/v1/alert-rules/preview", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    request_body = PreviewBody,
    responses((status = 200, description = "What the rule makes of them", body = PreviewAnswer), Refusals),
)]
pub async fn preview(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    RuleJson(body): RuleJson<PreviewBody>,
) -> Result<JsonAnswer<PreviewAnswer>, Problem> {
    let limit = body.limit.unwrap_or(EVENTS_DEFAULT);
    if !(1..=EVENTS_MAX).contains(&limit) {
        let detail = format!("`limit` must be a number from 1 to {EVENTS_MAX}.");
        return Err(Problem::invalid(vec![Fault::invalid("/limit", detail)]));
    }
    let rule = given::rule(&plane, caller.org, body.rule, body.rule_id).await?;
    plane.wait_until_fresh(caller.org, Log::Events).await?;
    let wanted = EventsWanted {
        filter: Filter::default(),
        order: Order::NewestFirst,
        after: None,
        limit,
    };
    let store = plane.store.clone();
    let query = async move { store.list_events(caller.org, &wanted).await };
    let found = plane.searches.run(caller.org, query).await?;
    let events = found.rows.into_iter().filter_map(|stored| {
        // What is stored was read before.
        let view = EventView::parse(&stored.json).unwrap_or_default();
        let explanation = explain(&rule.definition, &view);
        let event = RawValue::from_string(stored.json).ok()?;
        Some(PreviewedEvent { event, explanation })
    });
    let events: Vec<PreviewedEvent> = events.collect();
    Ok(JsonAnswer(PreviewAnswer {
        matched: events.iter().filter(|one| one.explanation.matches).count(),
        events,
    }))
}
