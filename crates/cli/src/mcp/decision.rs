//! What the Watchbell server answers to a question.

use domain::DecisionId;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
pub(super) struct Decision {
    #[serde(rename = "decision_id")]
    pub(super) id: DecisionId,
    #[serde(rename = "decision")]
    pub(super) verdict: Verdict,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    policies: Vec<Policy>,
    /// Policies that could not be evaluated.
    #[serde(default)]
    errors: Vec<Value>,
    /// What to send instead.
    modified_payload: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Allow,
    Modify,
    Escalate,
    Deny,
}

/// By its name in the record of a decision, with more in an answer.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Policy {
    Name(String),
    Deciding { id: String, effect: String },
}

impl Decision {
    /// Why, which policies said so, and by which id it is found in the trail; as a hook says it.
    pub(super) fn why(&self) -> String {
        let names = self.policies.iter().map(|policy| match policy {
            Policy::Name(id) | Policy::Deciding { id, .. } => id.as_str(),
        });
        let names: Vec<&str> = names.collect();
        let policies = match names.as_slice() {
            [] => String::new(),
            [only] => format!("policy {only}, "),
            many => format!("policies {}, ", many.join(", ")),
        };
        format!("{} ({policies}{})", self.reason, self.id)
    }

    /// Whether it is a no that no arguments would change: nothing was left open, and no policy permits the call with a change.
    pub(super) fn is_no_regardless(&self) -> bool {
        let permits = |policy: &Policy| matches!(policy, Policy::Deciding { effect, .. } if effect == "permit");
        self.verdict == Verdict::Deny
            && self.errors.is_empty()
            && !self.policies.iter().any(permits)
    }

    pub(super) fn take_modified(&mut self) -> Option<Map<String, Value>> {
        self.modified_payload.take()
    }
}
