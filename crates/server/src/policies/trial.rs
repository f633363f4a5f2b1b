//! `POST /v1/policies/test`: what a version answers to a question, and why; nothing is recorded.

use axum::{Json as JsonAnswer, extract::State};
use policy::{Asked, Decided, PolicySet, Question, Verdict, verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::versions::text_of;
use crate::{
    alerts::given::either,
    edge::{Caller, Problem, caller::PoliciesWrite, problem::Refusals, rule_body::PolicyJson},
    planes::ControlPlane,
};

/// A question, and the policies that it is put to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyTrial)]
pub struct TrialBody {
    /// A version that is saved; the active one unless given.
    version: Option<u32>,
    /// Policies that are not saved instead, in Cedar.
    policies: Option<String>,
    /// Their schema.
    schema: Option<String>,
    #[schema(example = "billing-agent")]
    agent_id: Option<String>,
    #[schema(example = "payments.refund")]
    action: Option<String>,
    #[schema(example = "invoice:4711")]
    resource: Option<String>,
    #[schema(value_type = Option<Object>)]
    context: Option<Map<String, Value>>,
    /// A question as it is recorded (`metadata.question` of a decision's event) instead of the four before.
    #[schema(value_type = Option<Object>)]
    question: Option<Question>,
    /// What the agent is about to send, any JSON: what `@obligation` changes.
    #[schema(value_type = Option<Object>)]
    payload: Option<Value>,
    /// Answers as if a person had approved it.
    #[serde(default)]
    approved: bool,
}

/// What is answered, and why.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyTrialResult)]
pub struct TrialAnswer {
    /// `allow`, `modify`, `escalate` or `deny`.
    #[schema(value_type = String, example = "deny")]
    decision: Verdict,
    reason: String,
    /// The policies that decided: `id`, `effect` and `annotations` of each.
    #[schema(value_type = Vec<Object>)]
    policies: Vec<verdict::Determining>,
    /// Policies that could not be evaluated: `id` and `error` of each. Then the decision is `deny`.
    #[schema(value_type = Vec<Object>)]
    errors: Vec<verdict::Failed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    modified_payload: Option<Value>,
    /// Null if the policies are not saved.
    policy_version: Option<u32>,
    policy_digest: String,
}

/// Tries policies on a question.
///
/// Says what would be decided and why. Nothing is recorded, nobody is asked for approval.
#[utoipa::path(
    post, path = "/v1/policies/test", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    request_body = TrialBody,
    responses((status = 200, description = "What the policies answer", body = TrialAnswer), Refusals),
)]
pub async fn test(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    PolicyJson(body): PolicyJson<TrialBody>,
) -> Result<JsonAnswer<TrialAnswer>, Problem> {
    let (version, policies, schema) = match (body.policies, body.version) {
        (Some(policies), None) => (None, policies, body.schema),
        (None, version) if body.schema.is_none() => {
            let version = match version {
                Some(version) => version,
                None => {
                    let standing = plane.store.policy_standing(caller.org).await?;
                    standing.active.version
                }
            };
            let text = text_of(&plane, caller.org, version).await?;
            (Some(version), text.policies, text.schema)
        }
        _ => {
            return Err(either(
                "/policies",
                "`version` or `policies`, and `schema` only with `policies`",
            ));
        }
    };
    let question = question(
        body.question,
        body.agent_id,
        body.action,
        body.resource,
        body.context,
    )?;
    let asked = Asked::new(&question).map_err(Problem::invalid)?;
    let (payload, is_approved) = (body.payload, body.approved);
    let tried = plane.checks.run(move || {
        let set = PolicySet::read(&policies, schema.as_deref())?;
        let decided = set.decide(&asked, payload.as_ref(), is_approved);
        Ok((decided, set.digest().to_owned()))
    });
    let (decided, policy_digest) = tried.await?.map_err(Problem::invalid)?;
    Ok(JsonAnswer(TrialAnswer::new(
        decided,
        version,
        policy_digest,
    )))
}

/// The question that is given whole, or in the words of an agent.
fn question(
    whole: Option<Question>,
    agent_id: Option<String>,
    action: Option<String>,
    resource: Option<String>,
    context: Option<Map<String, Value>>,
) -> Result<Question, Problem> {
    match (whole, agent_id, action) {
        (Some(question), None, None) if resource.is_none() && context.is_none() => Ok(question),
        (None, Some(agent_id), Some(action)) => {
            let (resource, context) = (resource.as_deref(), context.unwrap_or_default());
            Ok(Question::of_agent(&agent_id, &action, resource, context))
        }
        _ => Err(either(
            "/agent_id",
            "`agent_id` and `action`, or `question`",
        )),
    }
}

impl TrialAnswer {
    fn new(decided: Decided, policy_version: Option<u32>, policy_digest: String) -> Self {
        Self {
            decision: decided.verdict,
            reason: decided.reason,
            policies: decided.policies,
            errors: decided.errors,
            modified_payload: decided.modified_payload,
            policy_version,
            policy_digest,
        }
    }
}
