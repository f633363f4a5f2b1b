//! What is asked, in the shapes of the standard, and what that is in ours.

use axum::extract::{FromRequest, Request};
use domain::{
    DecisionId,
    error_code::ErrorCode,
    event::{NAME_CHARS_MAX, RESOURCE_CHARS_MAX, sanitize},
    fault::Fault,
};
use policy::{Party, Question};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::coaz;
use crate::{
    decisions::request::{Ask, Named, Run},
    edge::{Problem, strict_json::StrictJson},
};

/// The area of actions whose name has no dot: `read` is `access.read` in the trail.
const AREA: &str = "access";
/// Where `action.properties` are for policies.
const ACTION: &str = "action";

/// One question. Other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
pub struct EvaluationRequest {
    pub(super) subject: Entity,
    pub(super) action: Action,
    pub(super) resource: Entity,
    /// Data for policies to look at. It is recorded.
    #[schema(value_type = Option<Object>)]
    pub(super) context: Option<Map<String, Value>>,
    /// Not part of the standard. The id of a decision that was escalated and approved. Everything else must be exactly
    /// as it was then; an approval is valid for one decision.
    #[schema(value_type = Option<String>, example = "dec_01jcq3k5m8e9ratvw2x4y6z8ab")]
    approval: Option<DecisionId>,
}

/// Who acts, or what is acted on.
#[derive(Debug, Deserialize, ToSchema)]
pub struct Entity {
    /// A Cedar identifier; `agent` is `Agent` in policies.
    #[serde(rename = "type")]
    #[schema(example = "agent")]
    pub(super) kind: String,
    #[schema(example = "billing-agent")]
    pub(super) id: String,
    /// Its attributes in policies: `principal.role`, `resource.status`.
    #[schema(value_type = Option<Object>)]
    properties: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct Action {
    /// `Action::"<name>"` in policies.
    #[schema(example = "payments.refund")]
    pub(super) name: String,
    /// `context.action` in policies.
    #[schema(value_type = Option<Object>)]
    properties: Option<Map<String, Value>>,
}

impl EvaluationRequest {
    /// The pointers of faults are those of the request.
    pub fn into_ask(self) -> Result<Ask, Vec<Fault>> {
        let named = self.named();
        let context = self.context.unwrap_or_default();
        let context = with_action(context, self.action.properties)?;
        let Entity { kind, id, .. } = self.subject;
        let properties = self.subject.properties.unwrap_or_default();
        let question = Question {
            principal: Party::of_subject(&kind, &id, properties),
            action: self.action.name,
            resource: Party {
                kind: self.resource.kind,
                id: self.resource.id,
                properties: self.resource.properties.unwrap_or_default(),
            },
            context,
        };
        let ask = Ask::new(question, named);
        let mut ask =
            ask.map_err(|faults| faults.into_iter().map(in_request).collect::<Vec<_>>())?;
        ask.approval = self.approval;
        Ok(ask)
    }

    /// Agents go by their id in the trail, everybody else by type and id.
    fn named(&self) -> Named {
        let Entity { kind, id, .. } = &self.subject;
        let agent_id = match (kind.as_str(), coaz::agent(self)) {
            ("agent" | "Agent", _) => sanitize::text(id, NAME_CHARS_MAX),
            (_, Some(agent)) => sanitize::text(agent, NAME_CHARS_MAX),
            (_, None) => sanitize::text(&format!("{kind}:{id}"), NAME_CHARS_MAX),
        };
        let Entity { kind, id, .. } = &self.resource;
        let action = coaz::action(self);
        Named {
            agent_id: agent_id.unwrap_or_default(),
            action: action.unwrap_or_else(|| sanitize::action(AREA, &self.action.name)),
            resource: sanitize::text(&format!("{kind}:{id}"), RESOURCE_CHARS_MAX),
            run: Run::default(),
        }
    }
}

/// The properties of the action beside the rest of what policies may look at. Which of two counts would be a
/// guess.
fn with_action(
    mut context: Map<String, Value>,
    properties: Option<Map<String, Value>>,
) -> Result<Map<String, Value>, Vec<Fault>> {
    if let Some(properties) = properties {
        if context.contains_key(ACTION) {
            let detail = "Policies see `action.properties` as `context.action`; send only one of \
                          them.";
            return Err(vec![Fault::invalid("/context/action", detail)]);
        }
        context.insert(ACTION.to_owned(), Value::Object(properties));
    }
    Ok(context)
}

/// A fault of the question or of its event, told in the words of the request.
pub fn in_request(fault: Fault) -> Fault {
    let pointer = fault.pointer.as_str();
    let pointer = if let Some(rest) = pointer.strip_prefix("/principal") {
        format!("/subject{rest}")
    } else if let Some(rest) = pointer.strip_prefix("/context/action/") {
        format!("/action/properties/{rest}")
    } else {
        match pointer {
            "/action" => "/action/name".to_owned(),
            "/agent_id" => "/subject/id".to_owned(),
            // What is too large for the record is the context.
            "/metadata" => "/context".to_owned(),
            _ => return fault,
        }
    };
    Fault { pointer, ..fault }
}

/// A JSON body of at most so many bytes; what is malformed is 400, also where the rest of our API has more to say by
/// the status.
#[derive(Debug)]
pub struct Body<T, const BYTES_MAX: usize>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + ToSchema, const BYTES_MAX: usize> FromRequest<S>
    for Body<T, BYTES_MAX>
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = StrictJson::<T, BYTES_MAX>::from_request(request, state).await;
        read.map(|StrictJson(body)| Self(body)).map_err(malformed)
    }
}

/// The problem under the status that the standard has for it.
pub fn malformed(problem: Problem) -> Problem {
    match problem.code() {
        ErrorCode::UnsupportedMediaType | ErrorCode::ValidationFailed => {
            problem.told_as(ErrorCode::InvalidBody)
        }
        _ => problem,
    }
}
