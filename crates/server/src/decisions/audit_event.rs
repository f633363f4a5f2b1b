//! The audit event that a decision is: whoever has it and the policies can make the decision again.

use std::time::Duration;

use domain::{
    DecisionId,
    event::{METADATA_BYTES_MAX, reserved::DECISION},
};
use policy::{
    ENGINE, Verdict,
    payload::bytes_up_to,
    recorded::{Mode, NOT_ENFORCED, result},
    verdict::Failed,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    answer::DecisionAnswer,
    escalate::NotApproved,
    request::{Ask, Named},
};

pub const EVENT_TYPE: &str = DECISION;

/// What is recorded beside the question, and beside reason, policies and errors, which fill what is left: ids,
/// digests and the names of members.
const REST_BYTES_MAX: usize = 1024;

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
    /// From the question to the verdict, in microseconds. The store looks for it here, at the start.
    took_us: u32,
    decision: Verdict,
    reason: &'a str,
    /// Those that decided; in shadow mode, what is told in `shadow`.
    policies: Vec<&'a str>,
    #[serde(skip_serializing_if = "is_zero")]
    policies_left_out: usize,
    /// Of the same policies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<&'a Failed>,
    #[serde(skip_serializing_if = "is_zero")]
    errors_left_out: usize,
    policy_version: u32,
    policy_digest: &'a str,
    engine: &'static str,
    question: &'a RawValue,
    request_digest: &'a str,
    /// Whether there was a payload: some policies permit nothing without one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_payload: bool,
    /// Whether the payload told of commands that the question does not: some policies look at these.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    commands_in_payload: bool,
    /// The policies were not asked, because too many others were.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    busy: bool,
    #[serde(skip_serializing_if = "is_enforced")]
    mode: Mode,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow: Option<RecordedShadow<'a>>,
    /// The approval that it was allowed by.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<DecisionId>,
    /// The policies asked for a person, and it was denied for this.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<NotApproved>,
}

#[derive(Serialize)]
struct RecordedShadow<'a> {
    decision: Verdict,
    policy_version: u32,
    policy_digest: &'a str,
}

impl<'a> Recorded<'a> {
    pub fn new(ask: &'a Ask, answer: &'a DecisionAnswer, took: Duration) -> Self {
        let said = match (ask.mode, &answer.shadow) {
            (Mode::Shadow, Some(shadow)) => &shadow.decided,
            _ => &answer.decided,
        };
        let mut room = Room(METADATA_BYTES_MAX - REST_BYTES_MAX);
        room.take(ask.question_bytes());
        room.holds(&answer.decided.reason);
        let ids = said.policies.iter().map(|one| &*one.id);
        let policies: Vec<&str> = ids.take_while(|id| room.holds(id)).collect();
        let errors = said.errors.iter();
        let errors: Vec<&Failed> = errors.take_while(|failed| room.holds(failed)).collect();
        Self {
            event_type: EVENT_TYPE,
            named: &ask.named,
            result: match (ask.mode, answer.verdict) {
                (Mode::Shadow, Verdict::Allow) => NOT_ENFORCED,
                (_, verdict) => result(verdict),
            },
            decision_id: answer.decision_id,
            metadata: Metadata {
                took_us: u32::try_from(took.as_micros()).unwrap_or(u32::MAX),
                decision: answer.verdict,
                reason: &answer.decided.reason,
                policies_left_out: said.policies_left_out + said.policies.len() - policies.len(),
                policies,
                errors_left_out: said.errors_left_out + said.errors.len() - errors.len(),
                errors,
                policy_version: answer.policy_version,
                policy_digest: &answer.policy_digest,
                engine: &ENGINE,
                question: &ask.question_json,
                request_digest: ask.request_digest(),
                has_payload: ask.payload().is_some(),
                commands_in_payload: ask.asked().has_commands_in(ask.payload()),
                busy: answer.is_busy,
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

/// How many bytes are left.
struct Room(usize);

impl Room {
    fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    /// Whether there is room for this, with a comma; it is taken then.
    fn holds(&mut self, value: &impl Serialize) -> bool {
        // One byte too few is left for what takes up all that is.
        self.take(bytes_up_to(value, self.0) + 1)
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_enforced(mode: &Mode) -> bool {
    *mode == Mode::Enforce
}
