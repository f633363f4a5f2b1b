//! An endpoint: what every worker must know of a receiver that is in trouble.
//!
//! An endpoint that answers well has no state at all. One that fails gathers some: since when, whether
//! its breaker is open, until when it asked for quiet, whether somebody paused it. Every worker sees
//! the same state, and changes it by comparing and setting it.

use serde::{Deserialize, Serialize};

use crate::{EndpointId, OrgId, Timestamp};

/// One URL of an organisation, and how it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub id: EndpointId,
    pub org_id: OrgId,
    pub url: String,
    pub status: Status,
    /// `None`: closed, everything is sent.
    pub breaker: Option<OpenBreaker>,
    /// The receiver asked for a pause until then.
    pub quiet_until: Option<Timestamp>,
    /// When it said first that it is gone.
    pub gone_at: Option<Timestamp>,
    /// `None`: the last attempt was fine.
    pub failing: Option<Failing>,
}

/// Whether an endpoint is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Active,
    /// Somebody wants quiet.
    Paused {
        since: Timestamp,
    },
    Disabled {
        since: Timestamp,
        why: Why,
    },
}

/// Why an endpoint is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It said twice that it is gone.
    Gone,
    /// It has not taken anything for days.
    Failing,
}

/// A breaker that opened: nothing is sent but one probe at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBreaker {
    pub since: Timestamp,
    /// How many probes were sent.
    pub probes: u32,
    /// When the next may be.
    pub probe_at: Timestamp,
}

/// A run of failures without one success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    pub since: Timestamp,
    pub attempts: u32,
    /// How many of the notices of a long failure were given.
    pub notices: u8,
    /// How many of the last answers in a row were refusals.
    pub rejected: u32,
}

/// Something about an endpoint that its owner should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    BreakerOpened,
    BreakerClosed,
    /// It has failed for 15 minutes, an hour, a day.
    FailingFor15Minutes,
    FailingForAnHour,
    FailingForADay,
    /// It refused three deliveries in a row.
    Rejecting,
    /// It wants to send us elsewhere.
    Redirecting,
    Disabled,
    Paused,
    /// Somebody ended a pause, or enabled it again.
    Resumed,
}
