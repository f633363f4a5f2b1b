//! A decision as the trail has it, read so that it can be made again.

mod event;

use domain::{DecisionId, EventId};

pub use self::event::{
    Mode, NOT_ENFORCED, NotOurs, RecordedDecision, RecordedMetadata, Said, result,
};
use crate::{CedarRequest, Decided, PolicySet, Question, Verdict};

/// A recorded decision.
#[derive(Debug)]
pub struct Recorded {
    pub id: EventId,
    pub question: Question,
    /// Whether there was one; what was in it is not on record.
    pub has_payload: bool,
    commands_in_payload: bool,
    /// What the active policies said. In shadow mode the agent was told to go ahead whatever that was.
    pub said: Verdict,
    /// The policies that decided, by id; the first of them if there were too many for the record.
    pub policies: Vec<String>,
    policies_left_out: usize,
    pub version: u32,
    pub digest: String,
    /// A person had approved this very question.
    pub is_approved: bool,
    /// What the version in shadow said.
    pub shadow: Option<Said>,
}

/// Why an event is no decision that could be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotADecision {
    #[error("its metadata is not that of a decision")]
    OtherShape,
    /// Anybody may send events of this type; ours have the decision's id.
    #[error("its id is not that of its decision, so Watchbell did not record it")]
    NotOurs,
    #[error("its result is not that of its decision")]
    OtherResult,
    #[error("it was made in shadow mode, and does not say what the policies said")]
    SaysNothing,
    #[error("too many others were asked, so it was denied without asking the policies")]
    NotAsked,
}

/// How a decision that was made again is not the one on record.
#[derive(Debug)]
pub enum Differs {
    /// The question has no meaning.
    Unaskable(String),
    /// The policies look at the payload, which is not on record.
    PayloadUnknown,
    /// This is decided instead.
    Otherwise(Box<Decided>),
}

impl From<NotOurs> for NotADecision {
    fn from(why: NotOurs) -> Self {
        match why {
            NotOurs::OtherShape => Self::OtherShape,
            NotOurs::OtherId => Self::NotOurs,
        }
    }
}

impl Recorded {
    /// Reads a stored event.
    pub fn read(json: &str) -> Result<Self, NotADecision> {
        let RecordedDecision {
            id,
            result: recorded_result,
            metadata,
            ..
        } = RecordedDecision::read(json)?;
        let (Some(question), Some(version), Some(digest)) = (
            metadata.question,
            metadata.policy_version,
            metadata.policy_digest,
        ) else {
            return Err(NotADecision::OtherShape);
        };
        let is_refused = metadata.refused.is_some();
        let is_denied = metadata.decision == Verdict::Deny;
        // Older records of shadow mode say `allowed`.
        let is_not_enforced = metadata.mode == Mode::Shadow
            && metadata.decision == Verdict::Allow
            && recorded_result == NOT_ENFORCED;
        let is_its_result = is_not_enforced || recorded_result == result(metadata.decision);
        if !is_its_result || (is_refused && !is_denied) {
            return Err(NotADecision::OtherResult);
        }
        // In shadow mode it is the active version whose word is told beside the answer.
        let (said, shadow) = match (metadata.mode, metadata.shadow) {
            (Mode::Enforce, shadow) if is_refused => (Verdict::Escalate, shadow),
            (Mode::Enforce, shadow) => (metadata.decision, shadow),
            (Mode::Shadow, Some(said)) if said.policy_version == version => (said.decision, None),
            (Mode::Shadow, _) => return Err(NotADecision::SaysNothing),
        };
        // Nothing but a denial by nobody, or a yes could be hidden by saying so.
        if metadata.busy && said == Verdict::Deny && metadata.policies.is_empty() {
            return Err(NotADecision::NotAsked);
        }
        Ok(Self {
            id,
            question,
            has_payload: metadata.has_payload,
            commands_in_payload: metadata.commands_in_payload,
            said,
            policies: metadata.policies,
            policies_left_out: metadata.policies_left_out,
            version,
            digest,
            is_approved: metadata.approval.is_some(),
            shadow,
        })
    }

    /// Whether these policies say again what they said then, and by the same policies; otherwise what they say now.
    pub fn check_again(&self, policies: &PolicySet) -> Result<(), Differs> {
        let asked = CedarRequest::new(&self.question).map_err(|faults| {
            let first = faults.first().map(ToString::to_string);
            Differs::Unaskable(first.unwrap_or_default())
        })?;
        let Some(decided) = self.decide_by(policies, &asked) else {
            return Err(Differs::PayloadUnknown);
        };
        if decided.verdict == self.said && self.is_by(&decided) {
            return Ok(());
        }
        // What was to be changed in the payload could not be changed, and what was in it is not on record.
        let obliging = policies.decide_again(self.id.time(), &asked, true);
        let is_for_its_payload = self.has_payload
            && self.said == Verdict::Deny
            && obliging.verdict == Verdict::Modify
            && self.is_by(&obliging);
        if is_for_its_payload {
            return Ok(());
        }
        Err(Differs::Otherwise(Box::new(decided)))
    }

    /// What these policies say to the question, at the time it was asked. Of a payload it is not known what was in it:
    /// what is to be changed there counts as changed, and if they look at it, nothing can be told. Without one nothing
    /// can be changed.
    pub fn decide_by(&self, policies: &PolicySet, asked: &CedarRequest) -> Option<Decided> {
        let then = self.id.time();
        let looks = policies.look_at(asked);
        let is_unknown = looks.payload || (looks.command && self.commands_in_payload);
        match (self.has_payload, is_unknown) {
            (false, _) => Some(policies.decide_at(then, asked, None, self.is_approved)),
            (true, false) => Some(policies.decide_again(then, asked, self.is_approved)),
            (true, true) => None,
        }
    }

    fn is_by(&self, decided: &Decided) -> bool {
        let mut now = decided.policies.iter().map(|policy| &policy.id);
        let recorded = self.policies.iter();
        let are_same = recorded.eq(now.by_ref().take(self.policies.len()));
        are_same && (self.policies_left_out > 0 || now.next().is_none())
    }

    pub fn decision_id(&self) -> DecisionId {
        DecisionId::from_uuid(self.id.uuid())
    }
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_denial_without_asking_the_policies_cannot_be_made_again_and_hides_nothing_else() {
        let id = EventId::new(Timestamp::from_unix_millis(1_763_199_000_000), [1; 10]);
        let read = |result: &str, decision: &str, policies: &[&str]| {
            let event = json!({
                "id": id, "event_type": "decision", "decision_id": DecisionId::from_uuid(id.uuid()),
                "received_at": "2026-11-15T09:30:00.000Z", "agent_id": "a", "action": "b.c", "result": result,
                "metadata": {
                    "decision": decision, "policies": policies, "policy_version": 2, "policy_digest": "sha256:0",
                    "question": Question::of_agent("a", "b.c", None, serde_json::Map::new()), "busy": true,
                },
            });
            Recorded::read(&event.to_string()).map(|recorded| recorded.said)
        };
        assert_eq!(read("denied", "deny", &[]), Err(NotADecision::NotAsked));
        assert_eq!(read("denied", "deny", &["x"]), Ok(Verdict::Deny));
        assert_eq!(read("allowed", "allow", &[]), Ok(Verdict::Allow));
    }
}
