//! The event that a decision is in the trail, read again.

use domain::{DecisionId, EventId, Timestamp, event::reserved::DECISION};
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::{Question, Verdict};

/// The result of what was asked in shadow mode: whatever the policies said, nobody was held to it.
pub const NOT_ENFORCED: &str = "not_enforced";

/// The result that an event has for a verdict.
pub fn result(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allowed",
        Verdict::Deny => "denied",
        Verdict::Modify => "modified",
        Verdict::Escalate => "escalated",
    }
}

/// Whether the agent obeys the decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Enforce,
    /// The answer is `allow`, and `shadow` says what it would be. Only where the organization allows that
    /// (`shadow_mode_allowed`).
    Shadow,
}

/// A decision that we recorded. What older versions did not record is optional.
#[derive(Debug, Deserialize)]
pub struct RecordedDecision {
    pub id: EventId,
    event_type: String,
    decision_id: Option<String>,
    pub received_at: Timestamp,
    pub agent_id: String,
    pub action: String,
    pub resource: Option<String>,
    pub session_id: Option<String>,
    pub result: String,
    pub metadata: RecordedMetadata,
}

#[derive(Debug, Deserialize)]
pub struct RecordedMetadata {
    pub decision: Verdict,
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub policies: Vec<String>,
    /// How many more there were than the record had room for.
    #[serde(default)]
    pub policies_left_out: usize,
    pub policy_version: Option<u32>,
    pub policy_digest: Option<String>,
    pub question: Option<Question>,
    pub request_digest: Option<String>,
    /// Whether the agent told what it is about to send.
    #[serde(default)]
    pub has_payload: bool,
    #[serde(default)]
    pub commands_in_payload: bool,
    /// The policies were not asked.
    #[serde(default)]
    pub busy: bool,
    #[serde(default)]
    pub mode: Mode,
    pub shadow: Option<Said>,
    pub approval: Option<String>,
    /// The policies asked for a person, and nobody could be asked or the approval was no good.
    pub refused: Option<IgnoredAny>,
}

/// What a version said.
#[derive(Clone, Debug, Deserialize)]
pub struct Said {
    pub decision: Verdict,
    pub policy_version: u32,
    pub policy_digest: String,
}

/// Why an event is no decision of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOurs {
    /// It has another shape.
    OtherShape,
    /// Anybody may send events of this type. Ours have the decision's id, which nobody can know before the event is
    /// there, unless it follows from what a client said.
    OtherId,
}

impl RecordedDecision {
    /// Reads a stored event.
    pub fn read(json: &str) -> Result<Self, NotOurs> {
        let event: Self = serde_json::from_str(json).map_err(|_| NotOurs::OtherShape)?;
        if event.event_type != DECISION {
            return Err(NotOurs::OtherShape);
        }
        let named = event.decision_id.as_deref().and_then(|id| id.parse().ok());
        if event.id.is_derived() || named != Some(event.decision_id()) {
            return Err(NotOurs::OtherId);
        }
        Ok(event)
    }

    pub fn decision_id(&self) -> DecisionId {
        DecisionId::from_uuid(self.id.uuid())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(id: EventId) -> Value {
        json!({
            "id": id, "event_type": "decision", "decision_id": DecisionId::from_uuid(id.uuid()),
            "received_at": "2026-11-15T09:30:00.000Z", "agent_id": "a", "action": "b.c", "result": "allowed",
            "metadata": {"decision": "allow"},
        })
    }

    #[test]
    fn an_event_that_a_client_made_look_like_a_decision_is_none() {
        let at = Timestamp::from_unix_millis(1_763_199_000_000);
        let (ours, other) = (EventId::new(at, [1; 10]), EventId::new(at, [2; 10]));
        let read = |event: &Value| RecordedDecision::read(&event.to_string()).map(|read| read.id);
        assert_eq!(read(&event(ours)), Ok(ours));
        // The id follows from what the client calls its event, so the event can name itself.
        let org = domain::OrgId::from_uuid(other.uuid());
        let known_before = EventId::from_client(org, &["mine"], at);
        assert_eq!(read(&event(known_before)), Err(NotOurs::OtherId));
        let mut another = event(ours);
        another["decision_id"] = json!(DecisionId::from_uuid(other.uuid()));
        assert_eq!(read(&another), Err(NotOurs::OtherId));
        let mut call = event(ours);
        call["event_type"] = json!("tool_call");
        assert_eq!(read(&call), Err(NotOurs::OtherShape));
    }
}
