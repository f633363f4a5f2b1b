//! The audit event that a decision is: whoever has it and the policies can make the decision again.

use domain::DecisionId;
use policy::{ENGINE, Question, Verdict, verdict::Failed};
use serde::Serialize;

use super::{
    answer::Answer,
    ask::{Ask, Mode, Named},
    escalate::Refused,
};

pub const EVENT_TYPE: &str = "decision";

/// A decision as the trail has it.
#[derive(Serialize)]
pub struct Recorded<'a> {
    event_type: &'static str,
    #[serde(flatten)]
    named: &'a Named,
    result: &'static str,
    decision_id: DecisionId,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    decision: Verdict,
    reason: &'a str,
    policies: Vec<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [Failed],
    policy_version: u32,
    policy_digest: &'a str,
    engine: &'static str,
    question: &'a Question,
    request_digest: String,
    #[serde(skip_serializing_if = "is_enforced")]
    mode: Mode,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow: Option<RecordedShadow<'a>>,
    /// The approval that it was allowed by.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<DecisionId>,
    /// The policies asked for a person, and it was denied for this.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Refused>,
}

#[derive(Serialize)]
struct RecordedShadow<'a> {
    decision: Verdict,
    policy_version: u32,
    policy_digest: &'a str,
}

impl<'a> Recorded<'a> {
    pub fn new(ask: &'a Ask, answer: &'a Answer) -> Self {
        Self {
            event_type: EVENT_TYPE,
            named: &ask.named,
            result: result(answer.verdict),
            decision_id: answer.decision_id,
            metadata: Metadata {
                decision: answer.verdict,
                reason: &answer.decided.reason,
                policies: answer.decided.policies.iter().map(|one| &*one.id).collect(),
                errors: &answer.decided.errors,
                policy_version: answer.policy_version,
                policy_digest: &answer.policy_digest,
                engine: &ENGINE,
                question: &ask.question,
                request_digest: ask.question.digest(ask.payload.as_ref()),
                mode: ask.mode,
                shadow: answer.shadow.as_ref().map(|shadow| RecordedShadow {
                    decision: shadow.decided.verdict,
                    policy_version: shadow.policy_version,
                    policy_digest: &shadow.policy_digest,
                }),
                approval: answer.approval,
                refused: answer.refused,
            },
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_enforced(mode: &Mode) -> bool {
    *mode == Mode::Enforce
}

/// What the verdict is called as the result of an event.
pub fn result(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allowed",
        Verdict::Deny => "denied",
        Verdict::Modify => "modified",
        Verdict::Escalate => "escalated",
    }
}
