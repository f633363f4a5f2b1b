//! The guard of an organization: which policies answer its agents, and what is answered when something fails.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What every node must know to answer an organization's agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    pub active: PolicyText,
    /// A version that is asked too and not obeyed.
    pub shadow: Option<PolicyText>,
    pub settings: Settings,
}

/// A version of an organization's policies, as it was written. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyText {
    /// Counted from 1, which is the starter that nobody wrote.
    pub version: u32,
    /// Follows from the texts (`sha256:` and 64 hexadecimal digits).
    pub digest: String,
    pub policies: String,
    pub schema: Option<String>,
}

/// What an organization decided about its guard beside the policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub fail_mode: FailMode,
    /// How long a person may take to approve something; after that it is denied.
    pub approval_timeout_s: u32,
    /// How long an approval may be used after it was given.
    pub approval_valid_s: u32,
    /// Whether agents may ask in shadow mode, in which everything is allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow_mode_allowed: bool,
    /// Whether the key that asked for something may approve it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_approval_allowed: bool,
}

/// What is answered when a decision cannot be recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailMode {
    /// Nothing: the agent asks again.
    #[default]
    Closed,
    /// What the policies say, marked as a fallback.
    Open,
}

impl Settings {
    /// The shortest and longest time that somebody may be given, and that an approval may last.
    pub const TIMES_S: std::ops::RangeInclusive<u32> = 10..=7 * 24 * 3600;

    pub fn approval_timeout(self) -> Duration {
        Duration::from_secs(self.approval_timeout_s.into())
    }

    pub fn approval_valid(self) -> Duration {
        Duration::from_secs(self.approval_valid_s.into())
    }
}

/// Closed; a quarter of an hour to approve, five minutes to act on it; nobody is let off the policies, and nobody
/// approves what they asked for.
impl Default for Settings {
    fn default() -> Self {
        Self {
            fail_mode: FailMode::default(),
            approval_timeout_s: 15 * 60,
            approval_valid_s: 5 * 60,
            shadow_mode_allowed: false,
            self_approval_allowed: false,
        }
    }
}

impl FailMode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
        }
    }
}
