//! The life of an escalated decision: asked, then approved, denied or timed out; an approval is spent once.
//!
//! An approval is for one request, known by its digest, and for the person's own words: the question is
//! answered anew when the approval is spent, so it can lift what asks for a person and nothing else, and only by
//! the policies that the person was told of. The key that asked does not approve it, unless the organization lets
//! it. Ends are times: what nobody resolved is timed out whatever is down, whoever asks.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    DecisionId, KeyId, OrgId, Timestamp, UserId,
    id::{Tail, derived},
};

/// The `event_type` of the event that says what became of it.
pub const EVENT_TYPE: &str = "approval";

/// Something that a person was asked to approve, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub decision_id: DecisionId,
    pub org_id: OrgId,
    /// Names the very request: an approval is good for this one and no other.
    pub request_digest: String,
    pub agent_id: String,
    pub action: String,
    pub resource: Option<String>,
    /// Why a person is asked.
    pub reason: String,
    /// The policies that ask for a person, by id.
    pub policies: Vec<String>,
    pub policy_version: u32,
    pub policy_digest: String,
    /// What was asked, whole, for the person to look at.
    pub question: Value,
    pub payload: Option<Value>,
    pub asked_at: Timestamp,
    /// What is not resolved by then is denied.
    pub expires_at: Timestamp,
    /// For how long it may be spent after it was given.
    pub valid_s: u32,
    /// The key that asked; `None` if an older version put it to people, which did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<KeyId>,
    /// Whether that key may approve it, as the organization had it then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_approval_allowed: bool,
    /// What a person sees of it at a glance, as its policies ask.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// The agent's run that it belongs to, if the agent said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// `None`: nobody has resolved it, and nobody has noted that the time is over.
    pub outcome: Option<Outcome>,
    pub spent: Option<Spent>,
    /// Whether the trail was told of the outcome.
    pub told: bool,
}

/// Something worth knowing about a request: its name, and its value as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub name: String,
    pub value: String,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Resolved(Resolution),
    /// The time is over, which was noted: from here on nobody can resolve it, however slow their clock.
    TimedOut,
}

/// What a person, or a program of theirs, said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    pub approved: bool,
    pub by: Resolver,
    pub at: Timestamp,
    pub note: Option<String>,
}

/// Who resolves: a person, or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Resolver {
    User(UserId),
    Key(KeyId),
}

/// The decision that used the approval up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub by: DecisionId,
    pub at: Timestamp,
}

/// What an approval is wanted for.
#[derive(Clone, Copy, Debug)]
pub struct Spending<'a> {
    /// Names the request.
    pub request_digest: &'a str,
    /// Names the policies that ask for a person.
    pub policy_digest: &'a str,
    pub by: DecisionId,
    pub at: Timestamp,
}

/// Where it is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Pending,
    Approved,
    Denied,
    TimedOut,
}

/// Why it was not resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    AlreadyResolved(Resolution),
    TimedOut,
    /// Nobody approves what they asked for. Taking it back is another matter.
    OwnRequest,
}

/// Why an approval does not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSpendable {
    /// The organization has none for this decision.
    Unknown,
    /// Nobody has resolved it yet.
    Pending,
    Denied,
    TimedOut,
    /// It is for another request.
    Mismatch,
    /// It was given when other policies were in force, so nobody was told of what asks for it now.
    PoliciesChanged,
    /// Another decision used it up.
    Used,
    /// It was given too long ago.
    Lapsed,
}

impl Approval {
    /// The longest note, in characters: a sentence or two, not a document.
    pub const NOTE_CHARS_MAX: usize = 500;

    pub fn status(&self, now: Timestamp) -> Status {
        match &self.outcome {
            Some(Outcome::Resolved(resolution)) if resolution.approved => Status::Approved,
            Some(Outcome::Resolved(_)) => Status::Denied,
            Some(Outcome::TimedOut) => Status::TimedOut,
            None if now >= self.expires_at => Status::TimedOut,
            None => Status::Pending,
        }
    }

    /// When it was resolved or timed out; `None` while it is pending.
    pub fn ended_at(&self, now: Timestamp) -> Option<Timestamp> {
        match &self.outcome {
            Some(Outcome::Resolved(resolution)) => Some(resolution.at),
            _ => (self.status(now) == Status::TimedOut).then_some(self.expires_at),
        }
    }

    pub fn resolution(&self) -> Option<&Resolution> {
        match &self.outcome {
            Some(Outcome::Resolved(resolution)) => Some(resolution),
            Some(Outcome::TimedOut) | None => None,
        }
    }

    /// Ends it, unless it has ended. Saying the very same again changes nothing: an answer may have got lost.
    pub fn resolve(&mut self, resolution: Resolution) -> Result<(), Refused> {
        if self.resolution() == Some(&resolution) {
            return Ok(());
        }
        match (&self.outcome, self.status(resolution.at)) {
            (Some(Outcome::Resolved(before)), _) => Err(Refused::AlreadyResolved(before.clone())),
            (None, Status::Pending) if self.is_own(&resolution) => Err(Refused::OwnRequest),
            (None, Status::Pending) => {
                self.outcome = Some(Outcome::Resolved(resolution));
                Ok(())
            }
            _ => Err(Refused::TimedOut),
        }
    }

    /// Uses it up for one decision. The same decision may ask again: an answer may have got lost.
    pub fn spend(&mut self, spending: Spending<'_>) -> Result<(), NotSpendable> {
        let Spending { by, at, .. } = spending;
        // First, so that nobody learns anything about an approval that is not theirs to use.
        if self.request_digest != spending.request_digest {
            return Err(NotSpendable::Mismatch);
        }
        let given_at = match (&self.outcome, self.status(at)) {
            (Some(Outcome::Resolved(resolution)), Status::Approved) => resolution.at,
            (_, Status::Pending) => return Err(NotSpendable::Pending),
            (_, Status::Denied) => return Err(NotSpendable::Denied),
            _ => return Err(NotSpendable::TimedOut),
        };
        match self.spent {
            Some(spent) if spent.by == by => Ok(()),
            Some(_) => Err(NotSpendable::Used),
            None if at > given_at.plus(self.valid()) => Err(NotSpendable::Lapsed),
            None if self.policy_digest != spending.policy_digest => {
                Err(NotSpendable::PoliciesChanged)
            }
            None => {
                self.spent = Some(Spent { by, at });
                Ok(())
            }
        }
    }

    /// Notes that the time is over, if it is: what the trail is told then can no longer change.
    pub fn note_time_out(&mut self, now: Timestamp) {
        if self.outcome.is_none() && self.status(now) == Status::TimedOut {
            self.outcome = Some(Outcome::TimedOut);
        }
    }

    /// Whether it is an approval by the key that asked, where that may not be.
    fn is_own(&self, resolution: &Resolution) -> bool {
        let asked_by = self.asked_by.map(Resolver::Key);
        resolution.approved && asked_by == Some(resolution.by) && !self.self_approval_allowed
    }

    fn valid(&self) -> Duration {
        Duration::from_secs(self.valid_s.into())
    }
}

impl Status {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Approved, Self::Denied, Self::TimedOut];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::TimedOut => "timed_out",
        }
    }

    /// What the escalated decision says by now.
    pub fn decision(self) -> &'static str {
        match self {
            Self::Pending => "escalate",
            Self::Approved => "allow",
            Self::Denied | Self::TimedOut => "deny",
        }
    }
}

impl NotSpendable {
    /// For people: why the approval that was named does not help.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unknown => "There is no such approval.",
            Self::Pending => "Nobody has resolved the given approval yet.",
            Self::Denied => "The given approval was denied.",
            Self::TimedOut => "Nobody resolved the given approval in time.",
            Self::Mismatch => {
                "The given approval is for another request; the question and payload must be exactly the same."
            }
            Self::PoliciesChanged => {
                "The policies have changed since the given approval was requested; ask again."
            }
            Self::Used => {
                "The given approval has already been used; an approval is valid for one decision."
            }
            Self::Lapsed => "The given approval has expired: it was given too long ago.",
        }
    }
}

impl std::fmt::Display for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(id) => id.fmt(f),
            Self::Key(id) => id.fmt(f),
        }
    }
}

/// What makes the id of the event that says how the approval ended, beside its time. It ends once, so
/// recorded again it is the same event.
pub fn event_tail(decision: DecisionId) -> Tail {
    Tail::Derived(derived(decision.uuid().as_bytes(), EVENT_TYPE.as_bytes()))
}

#[cfg(test)]
mod tests;
