//! A delivery: one matched event on its way to one rule's endpoint.
//!
//! Each send is an attempt. [`body`] writes the bytes that are signed and sent, [`outcome`] reads
//! the answer, [`schedule`] says when to try again. A delivery is `pending` until it is `delivered`,
//! `scheduled` for another try, `held` because its address is forbidden, or `failed` for good.

pub mod body;
pub mod outcome;
pub mod schedule;

use serde::{Deserialize, Serialize};

pub use outcome::Outcome;

/// Where a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Due; no attempt has been made yet.
    Pending,
    /// An attempt failed; the next one has a time.
    Scheduled,
    /// The receiver answered 2xx.
    Delivered,
    /// The address is forbidden; nothing more is sent.
    Held,
    /// No further attempt will be made.
    Failed,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Scheduled => "scheduled",
            Self::Delivered => "delivered",
            Self::Held => "held",
            Self::Failed => "failed",
        }
    }
}

/// Why an attempt was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    Match,
    Retry,
}

impl Trigger {
    /// The value of `X-Service-Trigger`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Retry => "retry",
        }
    }
}
