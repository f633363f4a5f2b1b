//! A delivery: one matched event on its way to one rule's endpoint.
//!
//! Each send is an attempt. [`body`] writes the bytes that are signed and sent, [`outcome`] reads
//! the answer, [`diagnosis`] explains it to people, [`schedule`] says when to try again, [`endpoint`]
//! what the answers say about the receiver. One worker keeps a [`send_window`] for each receiver and counts its failures for the [`breaker`], counts its sends to
//! each of the [`host_limits`], and has a [`fair_queue`] of what it could send next. [`ownership`] says whether a receiver is
//! known to be its owner's. A delivery is `pending` until it is `delivered`, `scheduled` for another try, `held` until
//! its endpoint may be sent to, `canceled`, or `failed` for good; a [`Reason`] says why. An alert that its
//! rule does not send is on record as `suppressed`, `snoozed` or `shadow`, and stays so.

pub mod body;
pub mod breaker;
pub mod diagnosis;
pub mod endpoint;
pub mod failure_event;
pub mod fair_queue;
pub mod host_limits;
pub mod outcome;
pub mod ownership;
mod reason;
pub mod schedule;
pub mod send_window;
#[cfg(test)]
mod test_answers;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use breaker::FailureTally;
pub use endpoint::{Endpoint, Gate, Notice};
pub use fair_queue::FairQueue;
pub use host_limits::{Host, Hosts};
pub use outcome::{Answer, Outcome};
pub use reason::Reason;
pub use send_window::SendWindow;

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
    /// Nothing is sent until its endpoint may be sent to.
    Held,
    /// No further attempt will be made.
    Failed,
    /// Nothing is sent: there was an alert just now.
    Suppressed,
    /// Nothing is sent: the rule is snoozed.
    Snoozed,
    /// Nothing is sent: the rule is only watched.
    Shadow,
    /// Nothing is sent: somebody did not want it any more.
    Canceled,
}

/// A delivery that has been due for so long without an attempt is not in the queue: whoever asked for it died before it was,
/// or the queue was lost. Longer than any send takes.
pub const LOST_AFTER: Duration = Duration::from_mins(10);

impl State {
    pub const ALL: [Self; 9] = [
        Self::Pending,
        Self::Scheduled,
        Self::Delivered,
        Self::Held,
        Self::Failed,
        Self::Canceled,
        Self::Suppressed,
        Self::Snoozed,
        Self::Shadow,
    ];

    /// Those in which a recovery may send again; of the last two, what is lost ([`LOST_AFTER`]).
    pub const RECOVERABLE: [Self; 6] = [
        Self::Held,
        Self::Failed,
        Self::Canceled,
        Self::Delivered,
        Self::Pending,
        Self::Scheduled,
    ];

    /// The state of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Scheduled => "scheduled",
            Self::Delivered => "delivered",
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Suppressed => "suppressed",
            Self::Snoozed => "snoozed",
            Self::Shadow => "shadow",
            Self::Canceled => "canceled",
        }
    }
}

/// Why there is a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// An event matched a rule.
    Match,
    /// Somebody tries out a rule's endpoint.
    Test,
    /// A period of suppression ended; the event is the last of those that were kept back.
    Summary { suppressed: u32 },
}

impl Cause {
    /// What [`Self::as_str`] says.
    pub const WORDS: [&str; 3] = [
        Trigger::Match.as_str(),
        Trigger::Summary.as_str(),
        Trigger::Test.as_str(),
    ];

    pub fn as_str(self) -> &'static str {
        self.first_trigger().as_str()
    }

    /// How many alerts that were kept back it stands for.
    pub fn suppressed(self) -> u32 {
        match self {
            Self::Match | Self::Test => 0,
            Self::Summary { suppressed } => suppressed,
        }
    }

    /// Why its first attempt is made.
    pub fn first_trigger(self) -> Trigger {
        match self {
            Self::Match => Trigger::Match,
            Self::Test => Trigger::Test,
            Self::Summary { .. } => Trigger::Summary,
        }
    }
}

/// Why an attempt was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    Match,
    Retry,
    Test,
    Summary,
    /// Somebody asked for this delivery again.
    Resend,
    /// Somebody asked for the deliveries of a time again.
    Recover,
}

impl Trigger {
    pub const ALL: [Self; 6] = [
        Self::Match,
        Self::Retry,
        Self::Test,
        Self::Summary,
        Self::Resend,
        Self::Recover,
    ];

    /// The value of `X-Service-Trigger`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Retry => "retry",
            Self::Test => "test",
            Self::Summary => "summary",
            Self::Resend => "resend",
            Self::Recover => "recover",
        }
    }
}
