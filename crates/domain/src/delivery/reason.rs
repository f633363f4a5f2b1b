//! Why a delivery is held, failed or canceled.

use serde::{Deserialize, Serialize};

/// Why nothing is sent, now or ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Failed: the schedule has no further attempt.
    Exhausted,
    /// Failed: it is too old to be worth sending.
    Expired,
    /// Failed: the receiver will never take it.
    Permanent,
    /// Held: somebody paused the endpoint.
    Paused,
    /// Held: the endpoint is disabled, because it failed for days or said that it is gone.
    Disabled,
    /// Held: the endpoint failed again and again just now.
    Breaker,
    /// Held: the receiver asked for a pause.
    RetryAfter,
    /// Held: the address is forbidden.
    Blocked,
    /// Canceled: somebody asked for that.
    User,
    /// Canceled: its rule is gone.
    RuleDeleted,
    /// Held: the endpoint has not answered its challenge. The last, because records number them.
    Unverified,
}

impl Reason {
    pub const ALL: [Self; 11] = [
        Self::Exhausted,
        Self::Expired,
        Self::Permanent,
        Self::Paused,
        Self::Disabled,
        Self::Breaker,
        Self::RetryAfter,
        Self::Blocked,
        Self::User,
        Self::RuleDeleted,
        Self::Unverified,
    ];

    /// Whether only a person can end it: what is held for it leaves the queue.
    pub fn needs_a_person(self) -> bool {
        matches!(self, Self::Paused | Self::Disabled | Self::Blocked)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exhausted => "exhausted",
            Self::Expired => "expired",
            Self::Permanent => "permanent",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
            Self::Breaker => "breaker",
            Self::RetryAfter => "retry_after",
            Self::Blocked => "blocked",
            Self::User => "user",
            Self::RuleDeleted => "rule_deleted",
            Self::Unverified => "unverified",
        }
    }
}
