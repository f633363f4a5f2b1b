//! `POST /access/v1/evaluation`: one question, yes or no.

use axum::{Json, extract::State};
use domain::{DecisionId, Timestamp};
use policy::Verdict;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::{Body, EvaluationRequest, in_request, malformed};
use crate::{
    decisions::{
        answer::{DecisionAnswer, answer},
        request::Asker,
    },
    edge::{Caller, Problem, caller::DecisionsWrite, enums::DecisionWord},
    planes::DataPlane,
};

/// The largest body: a question has 11 KiB at most, and may be written with many spaces and what we ignore.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// What was decided.
#[derive(Serialize, ToSchema)]
pub struct Evaluation {
    /// True only if the request may proceed as it is.
    decision: bool,
    context: EvaluationContext,
}

/// Why. For a question in a batch that could not be asked, `error` alone.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum EvaluationContext {
    Answered(Answered),
    Failed { error: EvaluationError },
}

#[derive(Serialize, ToSchema)]
pub struct Answered {
    #[schema(value_type = String, example = "dec_01jcq3k5m8e9ratvw2x4y6z8ab")]
    decision_id: DecisionId,
    /// `allow`, `deny` or `escalate`. A request that is allowed only with a change is denied: there is no payload here
    /// to change, and an enforcement point that knows only true and false would do exactly what it asked about.
    #[schema(value_type = DecisionWord, example = "allow")]
    verdict: Verdict,
    reason: String,
    /// The ids of the policies that decided.
    policies: Vec<String>,
    /// Policies that could not be evaluated; in that case the verdict is `deny`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<String>,
    #[schema(example = 3)]
    policy_version: u32,
    #[schema(example = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    policy_digest: String,
    /// For an escalation: someone may approve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    access_request: Option<AccessRequest>,
    /// True if the answer was returned before it was certain to be recorded (`fail_mode` `open`).
    fallback: bool,
}

/// What someone may approve, and until when. `GET /v1/runtime/decisions/{decision_id}` returns its current state. Once
/// it is approved, ask the same question again with `approval`.
#[derive(Serialize, ToSchema)]
pub struct AccessRequest {
    #[schema(value_type = String, example = "dec_01jcq3k5m8e9ratvw2x4y6z8ab")]
    decision_id: DecisionId,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
pub struct EvaluationError {
    #[schema(example = 400)]
    status: u16,
    message: String,
}

/// Asks whether a subject may do something (AuthZEN 1.0, Access Evaluation).
///
/// Fields that are not part of the standard are ignored, except `approval`. A denial is an answer, not an error.
#[utoipa::path(
    post, path = "/access/v1/evaluation", tag = "authzen", security(("api_key" = ["decisions:write"])),
    request_body = EvaluationRequest,
    params(("X-Request-ID" = Option<String>, Header, description = "Returned unchanged")),
    responses(
        (status = 200, description = "Decided and recorded", body = Evaluation),
    ),
)]
pub async fn evaluate(
    State(plane): State<DataPlane>,
    caller: Caller<DecisionsWrite>,
    Body(request): Body<EvaluationRequest, BODY_BYTES_MAX>,
) -> Result<Json<Evaluation>, Problem> {
    one(&plane, &caller, request).await.map(Json)
}

/// Answers one question.
pub(super) async fn one(
    plane: &DataPlane,
    caller: &Caller<DecisionsWrite>,
    request: EvaluationRequest,
) -> Result<Evaluation, Problem> {
    let ask = request.into_ask();
    let ask = ask.map_err(|faults| malformed(Problem::invalid(faults)))?;
    caller.speaks_for(&ask.named.agent_id)?;
    let answer = answer(plane, Asker::of(caller), &ask).await;
    let answer = answer.map_err(|unanswered| malformed(unanswered.in_words(in_request)))?;
    Ok(answer.into())
}

/// Whether a verdict is a yes.
pub(super) fn is_permit(verdict: Verdict) -> bool {
    verdict == Verdict::Allow
}

impl Evaluation {
    pub(super) fn is_permit(&self) -> bool {
        self.decision
    }

    /// A question that could not be asked is a no.
    pub(super) fn failed(message: String) -> Self {
        let error = EvaluationError {
            status: 400,
            message,
        };
        Self {
            decision: false,
            context: EvaluationContext::Failed { error },
        }
    }
}

impl From<DecisionAnswer> for Evaluation {
    fn from(answer: DecisionAnswer) -> Self {
        let access_request = answer.expires_at.map(|expires_at| AccessRequest {
            decision_id: answer.decision_id,
            expires_at,
        });
        let decided = answer.decided;
        let errors = decided.errors.into_iter();
        Self {
            decision: is_permit(answer.verdict),
            context: EvaluationContext::Answered(Answered {
                decision_id: answer.decision_id,
                verdict: answer.verdict,
                reason: decided.reason,
                policies: decided.policies.into_iter().map(|one| one.id).collect(),
                errors: errors
                    .map(|failed| format!("{}: {}", failed.id, failed.error))
                    .collect(),
                policy_version: answer.policy_version,
                policy_digest: answer.policy_digest,
                access_request,
                fallback: answer.is_fallback,
            }),
        }
    }
}
