//! What was decided, and why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The four answers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    /// Allowed with another payload than the one that was asked about.
    Modify,
    /// A person decides.
    Escalate,
    Deny,
}

/// An answer with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    pub verdict: Verdict,
    /// For people: the `@reason` of a policy that decided, or ours.
    pub reason: String,
    /// The policies that decided, by id.
    pub policies: Vec<Determining>,
    /// Policies that could not be evaluated; then the verdict is `deny`.
    pub errors: Vec<Failed>,
    /// Of `modify`: the payload as it may be used.
    pub modified_payload: Option<Value>,
}

/// A policy that decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Determining {
    pub id: String,
    pub effect: Effect,
    pub annotations: BTreeMap<String, String>,
}

/// What a policy does when it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Permit,
    Forbid,
}

/// A policy that could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    pub id: String,
    pub error: String,
}

impl Verdict {
    pub const ALL: [Self; 4] = [Self::Allow, Self::Modify, Self::Escalate, Self::Deny];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Modify => "modify",
            Self::Escalate => "escalate",
            Self::Deny => "deny",
        }
    }
}
