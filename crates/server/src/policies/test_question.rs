//! `POST /v1/policies/test`: what a version answers to a question, and why; nothing is recorded.

use axum::{Json as JsonAnswer, extract::State};
use domain::Timestamp;
use policy::{CedarRequest, Decided, PolicySet, Verdict, test::TestQuestion};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    check_pool,
    versions::{named_or_active, text_of},
};
use crate::{
    alerts::load_inputs::{either, invalid_in},
    decisions::decide::{DecidingPolicy, PolicyError, told},
    edge::{Caller, Problem, caller::PoliciesWrite, enums::DecisionWord, strict_json::PolicyJson},
    planes::ControlPlane,
};

/// A question, and the policies to ask.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyTrial)]
pub struct TrialBody {
    /// A saved version; by default the active one.
    version: Option<u32>,
    /// Unsaved policies to use instead, in Cedar.
    policies: Option<String>,
    /// Their schema.
    schema: Option<String>,
    /// As in a version's tests: `agent_id`, `action`, `resource` (`type:id`) and `context`; or as recorded
    /// (`metadata.question` of a decision's event).
    #[schema(value_type = Object, example = json!({"agent_id": "billing-agent", "action": "payments.refund", "resource": "invoice:4711"}))]
    question: TestQuestion,
    /// What the agent is about to send, any JSON: policies see it as `context.payload`, and `@obligation` changes it.
    payload: Option<Value>,
    /// When the question is asked, which policies see as `context.server.now`; by default now.
    #[schema(value_type = Option<String>, format = DateTime)]
    now: Option<Timestamp>,
    /// Answer as if a person had approved it.
    #[serde(default)]
    approved: bool,
}

/// The answer, and why.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyTrialResult)]
pub struct TrialAnswer {
    /// `allow`, `modify`, `escalate` or `deny`.
    #[schema(value_type = DecisionWord, example = "deny")]
    decision: Verdict,
    reason: String,
    /// The policies that decided.
    policies: Vec<DecidingPolicy>,
    /// Policies that could not be evaluated; in that case the decision is `deny`.
    errors: Vec<PolicyError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_payload: Option<Value>,
    /// Null for unsaved policies.
    policy_version: Option<u32>,
    policy_digest: String,
}

/// Tests policies on a question.
///
/// Returns what would be decided and why. Nothing is recorded, and nobody is asked for approval.
#[utoipa::path(
    post, path = "/v1/policies/test", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    request_body = TrialBody,
    responses((status = 200, description = "The answer of the policies", body = TrialAnswer)),
)]
pub async fn test(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    PolicyJson(body): PolicyJson<TrialBody>,
) -> Result<JsonAnswer<TrialAnswer>, Problem> {
    let (version, policies, schema) = match (body.policies, body.version) {
        (Some(policies), None) => (None, policies, body.schema),
        (None, version) if body.schema.is_none() => {
            let version = named_or_active(&plane, caller.org, version).await?;
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
    let question = body.question.whole().map_err(|fault| vec![fault]);
    let asked = question.and_then(|question| CedarRequest::by_somebody(&question));
    let asked = asked.map_err(|faults| invalid_in("/question", faults))?;
    let (payload, is_approved) = (body.payload, body.approved);
    let now = body.now.unwrap_or_else(|| plane.clock.now());
    let tried = check_pool::run(&plane, caller.org, move || {
        let set = PolicySet::read(&policies, schema.as_deref())?;
        let decided = set.decide_at(now, &asked, payload.as_ref(), is_approved);
        Ok((decided, set.digest().to_owned()))
    });
    let (decided, policy_digest) = tried.await?.map_err(Problem::invalid)?;
    Ok(JsonAnswer(TrialAnswer::new(
        decided,
        version,
        policy_digest,
    )))
}

impl TrialAnswer {
    fn new(decided: Decided, policy_version: Option<u32>, policy_digest: String) -> Self {
        Self {
            decision: decided.verdict,
            reason: decided.reason,
            policies: told(decided.policies),
            errors: decided.errors.into_iter().map(PolicyError::from).collect(),
            modified_payload: decided.modified_payload,
            policy_version,
            policy_digest,
        }
    }
}
