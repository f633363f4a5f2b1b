//! `POST /v1/runtime/decisions`: answers, once the journal has the decision.

use axum::{Json as JsonAnswer, extract::State};
use domain::{DecisionId, error_code::ErrorCode, event::accept::Arrival, fault::Fault};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    chance,
    edge::{Caller, Problem, caller::DecisionsWrite, problem::ProblemBody, read::Json},
    events::own::{Unrecorded, record},
    planes::DataPlane,
    telemetry::metrics as names,
};

/// The policy every organisation starts with.
const ALLOW_ALL: &str = "allow-all";

/// What an agent wants to do.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// 1 to 128 characters.
    #[schema(example = "billing-agent")]
    agent_id: String,
    /// A dotted name of two or more segments, at most 128 characters.
    #[schema(example = "payments.refund")]
    action: String,
    /// At most 256 characters.
    #[schema(example = "invoice:4711")]
    resource: Option<String>,
    /// What a policy may look at; with what we add, at most 16 KiB. It is recorded.
    #[serde(default)]
    #[schema(value_type = Object)]
    context: Map<String, Value>,
}

/// What was decided.
#[derive(Serialize, ToSchema)]
pub struct Decision {
    #[schema(value_type = String, example = "dec_01jcq3k5m8e9ratvw2x4y6z8ab")]
    decision_id: DecisionId,
    #[schema(example = "allow")]
    decision: &'static str,
    reason: &'static str,
    /// The policies that decided.
    policies: Vec<DecidingPolicy>,
    /// True if the answer was given without a policy being asked.
    fallback: bool,
}

#[derive(Serialize, ToSchema)]
pub struct DecidingPolicy {
    #[schema(example = "allow-all")]
    id: &'static str,
    #[schema(example = "permit")]
    effect: &'static str,
}

/// The audit event that a decision is.
#[derive(Serialize)]
struct DecisionEvent<'a> {
    event_type: &'static str,
    agent_id: &'a str,
    action: &'a str,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a str>,
    decision_id: DecisionId,
    metadata: DecisionMetadata<'a>,
}

#[derive(Serialize)]
struct DecisionMetadata<'a> {
    policies: [&'static str; 1],
    context: &'a Map<String, Value>,
}

/// Asks whether an agent may do something.
///
/// The decision is an audit event (`event_type` `decision`), durable before it is answered, so alert
/// rules can watch for it. Only the policy `allow-all` exists today.
#[utoipa::path(
    post, path = "/v1/runtime/decisions", tag = "decisions", security(("api_key" = ["decisions:write"])),
    request_body = Question,
    responses(
        (status = 200, description = "Decided and recorded", body = Decision),
        (status = "4XX", description = "Refused", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Not recorded, so not decided; ask again", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub async fn decide(
    State(plane): State<DataPlane>,
    caller: Caller<DecisionsWrite>,
    Json(question): Json<Question>,
) -> Result<JsonAnswer<Decision>, Problem> {
    let received_at = plane.clock.now();
    let decision_id = DecisionId::new(received_at, chance::bytes());
    let event = DecisionEvent {
        event_type: "decision",
        agent_id: &question.agent_id,
        action: &question.action,
        result: "allowed",
        resource: question.resource.as_deref(),
        decision_id,
        metadata: DecisionMetadata {
            policies: [ALLOW_ALL],
            context: &question.context,
        },
    };
    let arrival = Arrival {
        org: caller.org,
        received_at,
        retention: plane.retention,
    };
    record(&plane.events, &arrival, &event)
        .await
        .map_err(|unrecorded| match unrecorded {
            Unrecorded::Unwritable(error) => Problem::new(
                ErrorCode::InvalidBody,
                format!("This cannot be recorded: {error}."),
            ),
            Unrecorded::Invalid(fault) => Problem::invalid(vec![in_question(fault)]),
            Unrecorded::Journal(error) => error.into(),
        })?;
    metrics::counter!(names::DECISIONS, "decision" => "allow").increment(1);
    Ok(JsonAnswer(Decision {
        decision_id,
        decision: "allow",
        reason: "No policy of your own is in force; `allow-all` permits everything.",
        policies: vec![DecidingPolicy {
            id: ALLOW_ALL,
            effect: "permit",
        }],
        fallback: false,
    }))
}

/// A fault of the event, told in the words of the question.
fn in_question(fault: Fault) -> Fault {
    if fault.pointer.starts_with("/metadata") {
        return Fault {
            pointer: "/context".to_owned(),
            detail: fault.detail.replace("metadata", "context"),
            ..fault
        };
    }
    fault
}
