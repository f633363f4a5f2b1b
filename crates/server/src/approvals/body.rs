//! Decisions and approvals as clients see them.

use domain::{
    DecisionId, KeyId, Timestamp,
    approval::{Approval, Fact, Status},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::edge::enums::{ApprovalOutcome, DecisionWord};

/// A decision, in brief.
#[derive(Serialize, ToSchema)]
#[schema(as = Approval)]
pub struct ApprovalBody {
    #[schema(value_type = String, example = "dec_01jcq3k5m8e9ratvw2x4y6z8ab")]
    pub decision_id: DecisionId,
    /// Its current state: `escalate` until someone resolves it or it times out, then `allow` or `deny`.
    #[schema(value_type = DecisionWord, example = "escalate")]
    pub decision: String,
    pub reason: String,
    #[schema(example = "billing-agent")]
    pub agent_id: String,
    #[schema(example = "payments.refund")]
    pub action: String,
    pub resource: Option<String>,
    /// The session that the agent named.
    pub session_id: Option<String>,
    /// What to know of the request at a glance: what its policies name with `@show`.
    pub facts: Vec<FactBody>,
    /// The API key that asked for it, which cannot approve it; null if it was not escalated, or if the key is no longer
    /// known.
    #[schema(value_type = Option<String>, example = "key_01jcq3k5m8e9ratvw2x4y6z8ab")]
    pub asked_by: Option<KeyId>,
    /// The ids of the policies that decided.
    pub policies: Vec<String>,
    pub policy_version: Option<u32>,
    pub policy_digest: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub decided_at: Timestamp,
    /// When the request is denied if nobody has resolved it. Null if it was not escalated.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// Null if nobody has resolved it, or if it was not escalated.
    pub resolution: Option<ResolutionBody>,
}

/// A fact about a request: its name, and its value as text.
#[derive(Serialize, ToSchema)]
#[schema(as = ApprovalFact)]
pub struct FactBody {
    #[schema(example = "amount")]
    pub name: String,
    #[schema(example = "2000")]
    pub value: String,
}

/// How an escalated decision ended.
#[derive(Serialize, ToSchema)]
#[schema(as = Resolution)]
pub struct ResolutionBody {
    /// `approved`, `denied` or `timed_out`.
    #[schema(value_type = ApprovalOutcome, example = "approved")]
    pub outcome: String,
    /// The person or the API key; null if it timed out.
    #[schema(example = "usr_01jcq3k5m8e9ratvw2x4y6z8ab")]
    pub by: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub note: Option<String>,
}

/// A decision in full.
#[derive(Serialize, ToSchema)]
pub struct DecisionDetail {
    #[serde(flatten)]
    pub summary: ApprovalBody,
    /// What was asked: principal, action, resource and context.
    #[schema(value_type = Object)]
    pub question: Value,
    /// What the agent is about to send. If the decision was escalated, it is kept for 15 days and shown to anyone who
    /// may see the decision.
    pub payload: Option<Value>,
    /// Identifies the question and the payload: an approval is valid for exactly these.
    pub request_digest: Option<String>,
    /// The decision that used the approval.
    #[schema(value_type = Option<String>)]
    pub spent_by: Option<DecisionId>,
}

impl ApprovalBody {
    pub fn new(approval: &Approval, now: Timestamp) -> Self {
        let status = approval.status(now);
        let ended_at = approval.ended_at(now);
        let resolution = ended_at.map(|at| ResolutionBody::new(approval, status, at));
        Self {
            decision_id: approval.decision_id,
            decision: status.decision().to_owned(),
            reason: approval.reason.clone(),
            agent_id: approval.agent_id.clone(),
            action: approval.action.clone(),
            resource: approval.resource.clone(),
            session_id: approval.session_id.clone(),
            facts: approval.facts.iter().map(FactBody::new).collect(),
            asked_by: approval.asked_by,
            policies: approval.policies.clone(),
            policy_version: Some(approval.policy_version),
            policy_digest: Some(approval.policy_digest.clone()),
            decided_at: approval.asked_at,
            expires_at: Some(approval.expires_at),
            resolution,
        }
    }
}

impl FactBody {
    fn new(fact: &Fact) -> Self {
        Self {
            name: fact.name.clone(),
            value: fact.value.clone(),
        }
    }
}

impl ResolutionBody {
    fn new(approval: &Approval, status: Status, at: Timestamp) -> Self {
        let said = approval.resolution();
        Self {
            outcome: status.as_str().to_owned(),
            by: said.map(|said| said.by.to_string()),
            at,
            note: said.and_then(|said| said.note.clone()),
        }
    }
}

impl DecisionDetail {
    pub fn new(approval: Approval, now: Timestamp) -> Self {
        Self {
            summary: ApprovalBody::new(&approval, now),
            question: approval.question,
            payload: approval.payload,
            request_digest: Some(approval.request_digest),
            spent_by: approval.spent.map(|spent| spent.by),
        }
    }
}
