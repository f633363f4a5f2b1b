//! A decision as the trail has it, read so that it can be made again.

use domain::{DecisionId, EventId};
use policy::{Question, Verdict};
use serde::{Deserialize, de::IgnoredAny};

/// The `event_type` of a decision.
pub const EVENT_TYPE: &str = "decision";

/// A recorded decision.
#[derive(Debug)]
pub struct Recorded {
    pub id: EventId,
    pub question: Question,
    /// What the active policies said. In shadow mode the agent was told to go ahead whatever that was.
    pub said: Verdict,
    /// What the agent was answered.
    pub answered: Verdict,
    /// The policies that decided, by id.
    pub policies: Vec<String>,
    pub version: u32,
    pub digest: String,
    /// A person had approved this very question.
    pub is_approved: bool,
    /// What the version said that was watched.
    pub shadow: Option<Said>,
}

/// What a version said.
#[derive(Clone, Debug, Deserialize)]
pub struct Said {
    pub decision: Verdict,
    pub policy_version: u32,
    pub policy_digest: String,
}

/// Why an event is no decision that could be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotADecision {
    #[error("its metadata is not that of a decision")]
    OtherShape,
    /// Anybody may send events of this type; ours have the decision's id.
    #[error("its id is not that of its decision, so Watchbell did not record it")]
    NotOurs,
    #[error("it was made in shadow mode, and does not say what the policies said")]
    SaysNothing,
}

#[derive(Deserialize)]
struct Event {
    id: String,
    decision_id: Option<String>,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    decision: Verdict,
    #[serde(default)]
    policies: Vec<String>,
    policy_version: u32,
    policy_digest: String,
    question: Question,
    #[serde(default)]
    mode: Mode,
    shadow: Option<Said>,
    approval: Option<String>,
    /// The policies asked for a person, and nobody could be asked or the approval was no good.
    refused: Option<IgnoredAny>,
}

#[derive(Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Enforce,
    Shadow,
}

impl Recorded {
    /// Reads a stored event.
    pub fn read(json: &str) -> Result<Self, NotADecision> {
        let event: Event = serde_json::from_str(json).map_err(|_| NotADecision::OtherShape)?;
        let metadata = event.metadata;
        let id: EventId = event.id.parse().map_err(|_| NotADecision::NotOurs)?;
        let decision: Option<DecisionId> = event.decision_id.and_then(|id| id.parse().ok());
        if decision.map(DecisionId::uuid) != Some(id.uuid()) {
            return Err(NotADecision::NotOurs);
        }
        // In shadow mode it is the active version whose word is told beside the answer.
        let (said, shadow) = match (metadata.mode, metadata.shadow) {
            (Mode::Enforce, shadow) if metadata.refused.is_some() => (Verdict::Escalate, shadow),
            (Mode::Enforce, shadow) => (metadata.decision, shadow),
            (Mode::Shadow, Some(said)) if said.policy_version == metadata.policy_version => {
                (said.decision, None)
            }
            (Mode::Shadow, _) => return Err(NotADecision::SaysNothing),
        };
        Ok(Self {
            id,
            question: metadata.question,
            said,
            answered: metadata.decision,
            policies: metadata.policies,
            version: metadata.policy_version,
            digest: metadata.policy_digest,
            is_approved: metadata.approval.is_some(),
            shadow,
        })
    }

    pub fn decision_id(&self) -> DecisionId {
        DecisionId::from_uuid(self.id.uuid())
    }
}
