//! `POST /v1/alert-rules/suggest`: a rule made from an event, to begin with.

use axum::{Json as JsonAnswer, extract::State};
use domain::{
    event::EventView,
    rule::{definition::NAME_MAX, suggest},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;

use super::load_inputs;
use crate::{
    edge::{Caller, Problem, caller::RulesWrite, strict_json::RuleJson},
    planes::ControlPlane,
};

/// The event to base a rule on: the event itself, or its id.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RuleFromEvent)]
pub struct SuggestBody {
    /// The event, as sent or as stored.
    #[schema(value_type = Option<Object>)]
    event: Option<Box<RawValue>>,
    /// The id of a stored event, instead of `event`. Also needs the scope `events:read`.
    event_id: Option<String>,
}

/// A draft rule, without a `url`.
#[derive(Serialize, ToSchema)]
#[schema(as = RuleSuggested)]
pub struct SuggestAnswer {
    #[schema(example = "files.delete denied")]
    name: String,
    #[schema(value_type = Object)]
    r#match: Value,
}

/// Suggests a rule that matches events like the given one.
///
/// It matches what happened, not who was involved: add any other conditions, and a `url`. Nothing is saved.
#[utoipa::path(
    post, path = "/v1/alert-rules/suggest", tag = "alert rules",
    security(("api_key" = ["rules:write"]), ("session" = [])),
    request_body = SuggestBody,
    responses((status = 200, description = "A draft of a rule", body = SuggestAnswer)),
)]
pub async fn suggest(
    State(plane): State<ControlPlane>,
    caller: Caller<RulesWrite>,
    RuleJson(body): RuleJson<SuggestBody>,
) -> Result<JsonAnswer<SuggestAnswer>, Problem> {
    let json = load_inputs::event(&plane, &caller, body.event, body.event_id).await?;
    // Given or stored, it was read before.
    let event = EventView::parse(&json).unwrap_or_default();
    Ok(JsonAnswer(SuggestAnswer {
        name: name(&event),
        r#match: suggest::pattern(&event),
    }))
}

/// What happened, in a few words.
fn name(event: &EventView<'_>) -> String {
    let words = ["action", "result"].map(|field| event.text(field).unwrap_or_default());
    let name = words.join(" ");
    let name: String = name.trim().chars().take(NAME_MAX).collect();
    if name.is_empty() {
        "Like one event".to_owned()
    } else {
        name
    }
}
