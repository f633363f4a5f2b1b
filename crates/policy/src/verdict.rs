//! What was decided, and why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::annotations::Annotations;

/// How many policies and how many errors are told of one decision; of the rest, how many there are.
pub const TOLD_MAX: usize = 20;

/// How long the text of an error may be, and a reason.
pub const ERROR_CHARS_MAX: usize = 500;

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
    /// The policies that decided, by id; of `deny` none if nothing permits.
    pub policies: Vec<Determining>,
    /// How many more decided.
    pub policies_left_out: usize,
    /// Policies that could not be evaluated, by id, or what about the question does not fit the schema;
    /// then the verdict is `deny`.
    pub errors: Vec<Failed>,
    /// How many more failed.
    pub errors_left_out: usize,
    /// Of `modify`: the payload as it may be used.
    pub modified_payload: Option<Value>,
    /// Of `escalate`: the same, if a person approves it and policies oblige to a change.
    pub if_approved: Option<Value>,
}

/// A policy that decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Determining {
    pub id: String,
    pub effect: Effect,
    /// All but `@id`, which is above, and `@obligation`, which was carried out.
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
    /// Empty if no policy failed but the question does not fit the schema.
    #[serde(skip_serializing_if = "String::is_empty")]
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

impl Decided {
    /// Denied without a policy that says so.
    pub fn deny(reason: &str) -> Self {
        Self::by(Verdict::Deny, &[], reason)
    }

    /// Allowed without a policy that says so, because none is obeyed.
    pub fn allow(reason: &str) -> Self {
        Self::by(Verdict::Allow, &[], reason)
    }

    /// Decided by these policies; `otherwise` is the reason if none of them gives one.
    pub(crate) fn by(verdict: Verdict, policies: &[&Annotations], otherwise: &str) -> Self {
        let reason = policies.iter().find_map(|terms| terms.reason());
        let told = policies.iter().take(TOLD_MAX);
        Self {
            verdict,
            reason: shorten(reason.unwrap_or(otherwise)),
            policies: told.map(|terms| terms.told.clone()).collect(),
            policies_left_out: policies.len().saturating_sub(TOLD_MAX),
            errors: Vec::new(),
            errors_left_out: 0,
            modified_payload: None,
            if_approved: None,
        }
    }
}

/// A text for people, cut where it is too long.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(ERROR_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
