//! `POST /v1/runtime/decisions`: answers, once the journal has the decision.

use std::collections::BTreeMap;

use axum::{Json as JsonAnswer, extract::State};
use domain::{DecisionId, Timestamp, fault::Fault};
use policy::{
    Question, Verdict,
    recorded::Mode,
    verdict::{Determining, Failed},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    answer::{DecisionAnswer, Shadow, answer},
    request::{Ask, Asker, Named, Run},
};
use crate::{
    edge::{
        Caller, Problem,
        caller::DecisionsWrite,
        enums::{self, DecisionWord, PolicyEffect},
        strict_json::StrictJson,
    },
    planes::DataPlane,
};

/// The largest body: a question, and some 50 KiB of payload.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// What an agent wants to do.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// 1 to 128 characters; `Agent::"<agent_id>"` in policies.
    #[schema(example = "billing-agent")]
    agent_id: String,
    /// A dotted name of two or more segments, at most 128 characters; `Action::"<action>"` in policies.
    #[schema(example = "payments.refund")]
    action: String,
    /// `type:id`, at most 256 characters; `<type>::"<id>"` in policies.
    #[schema(example = "invoice:4711")]
    resource: Option<String>,
    /// Data for policies to look at; it is recorded. The whole question may be at most 11 KiB. The members `server` and
    /// `payload` are reserved: there, policies see our clock and the payload.
    #[serde(default)]
    #[schema(value_type = Object)]
    context: Map<String, Value>,
    /// What the agent is about to send. Policies see it as `context.payload`, up to 4 KiB of it or what their schema
    /// declares, and can have it changed (`modified_payload`); an approval is valid for this payload only. Only its
    /// digest is recorded; if a person is asked, the payload is kept for 15 days and shown to anyone who may see
    /// approvals.
    payload: Option<Value>,
    #[serde(default)]
    #[schema(value_type = enums::Mode)]
    mode: Mode,
    /// The id of a decision that was escalated and approved. The question and the payload must be exactly as they were
    /// then; an approval is valid for one decision.
    #[schema(value_type = Option<String>, example = "dec_01jcq3k5m8e9ratvw2x4y6z8ab")]
    approval: Option<DecisionId>,
    /// The agent's session, recorded with the decision; policies do not see it. This and the next two are 1 to 128
    /// characters, as in events.
    #[schema(example = "run-2931")]
    session_id: Option<String>,
    trace_id: Option<String>,
    span_id: Option<String>,
}

/// What was decided.
#[derive(Serialize, ToSchema)]
pub struct Decision {
    #[schema(value_type = String, example = "dec_01jcq3k5m8e9ratvw2x4y6z8ab")]
    decision_id: DecisionId,
    /// `allow`, `deny`, `modify` or `escalate`.
    #[schema(value_type = DecisionWord, example = "allow")]
    decision: Verdict,
    reason: String,
    /// The policies that decided.
    policies: Vec<DecidingPolicy>,
    /// How many more policies decided, if there are too many to list.
    #[serde(skip_serializing_if = "Option::is_none")]
    policies_left_out: Option<usize>,
    /// Policies that could not be evaluated; in that case the decision is `deny`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<PolicyError>,
    /// How many more could not be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    errors_left_out: Option<usize>,
    #[schema(example = 3)]
    policy_version: u32,
    #[schema(example = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    policy_digest: String,
    /// For `modify`: what to send instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_payload: Option<Value>,
    /// For `escalate`: when the request is denied if nobody has resolved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
    /// True if the answer was returned before it was certain to be recorded (`fail_mode` `open`).
    fallback: bool,
    /// What a version that is not enforced would have decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow: Option<ShadowDecision>,
    /// How long it took us, in microseconds.
    latency_us: u64,
}

#[derive(Serialize, ToSchema)]
pub struct DecidingPolicy {
    #[schema(example = "allow-all")]
    id: String,
    /// `permit` or `forbid`.
    #[schema(value_type = PolicyEffect, example = "permit")]
    effect: policy::verdict::Effect,
    annotations: BTreeMap<String, String>,
}

#[derive(Serialize, ToSchema)]
pub struct PolicyError {
    id: String,
    error: String,
}

#[derive(Serialize, ToSchema)]
pub struct ShadowDecision {
    #[schema(value_type = DecisionWord, example = "deny")]
    decision: Verdict,
    reason: String,
    policies: Vec<DecidingPolicy>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<PolicyError>,
    policy_version: u32,
    policy_digest: String,
}

/// Asks whether an agent may do something.
///
/// A `deny` is an answer, not an error. The decision is an audit event (`event_type` `decision`) and is durable before
/// it is returned, so alert rules can watch for it.
#[utoipa::path(
    post, path = "/v1/runtime/decisions", tag = "decisions", security(("api_key" = ["decisions:write"])),
    request_body = DecisionRequest,
    responses(
        (status = 200, description = "Decided and recorded", body = Decision),
    ),
)]
pub async fn decide(
    State(plane): State<DataPlane>,
    caller: Caller<DecisionsWrite>,
    StrictJson(request): StrictJson<DecisionRequest, BODY_BYTES_MAX>,
) -> Result<JsonAnswer<Decision>, Problem> {
    let ask = request
        .into_ask()
        .map_err(|faults| Problem::invalid(faults.into_iter().map(in_request).collect()))?;
    caller.speaks_for(&ask.named.agent_id)?;
    let answer = answer(&plane, Asker::of(&caller), &ask).await;
    let answer = answer.map_err(|unanswered| unanswered.in_words(in_request))?;
    Ok(JsonAnswer(answer.into()))
}

impl DecisionRequest {
    fn into_ask(self) -> Result<Ask, Vec<Fault>> {
        let resource = self.resource.as_deref();
        let question = Question::of_agent(&self.agent_id, &self.action, resource, self.context);
        let named = Named {
            agent_id: self.agent_id,
            action: self.action,
            resource: self.resource,
            run: Run {
                session_id: self.session_id,
                trace_id: self.trace_id,
                span_id: self.span_id,
            },
        };
        let mut ask = Ask::new(question, named)?.with_payload(self.payload)?;
        ask.mode = self.mode;
        ask.approval = self.approval;
        Ok(ask)
    }
}

/// A fault of the question or of its event, told in the words of the request.
fn in_request(fault: Fault) -> Fault {
    let pointer = fault.pointer.as_str();
    let pointer = match pointer.strip_prefix("/principal") {
        Some(_) => "/agent_id",
        None if pointer.starts_with("/resource") => "/resource",
        // What is too large for the record is the context.
        None if pointer.starts_with("/metadata") => "/context",
        None => return fault,
    };
    Fault {
        pointer: pointer.to_owned(),
        detail: fault.detail.replace("metadata", "context"),
        ..fault
    }
}

impl From<DecisionAnswer> for Decision {
    fn from(answer: DecisionAnswer) -> Self {
        let decided = answer.decided;
        let some = |count: usize| (count > 0).then_some(count);
        Self {
            decision_id: answer.decision_id,
            decision: answer.verdict,
            reason: decided.reason,
            policies: told(decided.policies),
            policies_left_out: some(decided.policies_left_out),
            errors: decided.errors.into_iter().map(PolicyError::from).collect(),
            errors_left_out: some(decided.errors_left_out),
            policy_version: answer.policy_version,
            policy_digest: answer.policy_digest,
            modified_payload: decided.modified_payload,
            expires_at: answer.expires_at,
            fallback: answer.is_fallback,
            shadow: answer.shadow.map(ShadowDecision::from),
            latency_us: u64::try_from(answer.took.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

impl From<Shadow> for ShadowDecision {
    fn from(shadow: Shadow) -> Self {
        Self {
            decision: shadow.decided.verdict,
            reason: shadow.decided.reason,
            policies: told(shadow.decided.policies),
            errors: shadow
                .decided
                .errors
                .into_iter()
                .map(PolicyError::from)
                .collect(),
            policy_version: shadow.policy_version,
            policy_digest: shadow.policy_digest,
        }
    }
}

impl From<Failed> for PolicyError {
    fn from(Failed { id, error }: Failed) -> Self {
        Self { id, error }
    }
}

pub fn told(policies: Vec<Determining>) -> Vec<DecidingPolicy> {
    let told = |one: Determining| DecidingPolicy {
        id: one.id,
        effect: one.effect,
        annotations: one.annotations,
    };
    policies.into_iter().map(told).collect()
}
