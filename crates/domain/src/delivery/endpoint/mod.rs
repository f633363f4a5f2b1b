//! An endpoint: what every worker must know of a receiver that is in trouble.
//!
//! An endpoint that answers well has no state at all. One that fails gathers some: since when, whether
//! its breaker is open, until when it asked for quiet, whether somebody paused it. Every worker sees
//! the same state, and changes it by comparing and setting it: it takes the freshest value, lets it
//! [`learn`](Endpoint::learn) what one answer says, and does so again if another was quicker.
//!
//! Answers therefore come late and in any order, up to the total time of an attempt after things have
//! changed. [`learn`](self::on_answer) says why none of them does harm.

mod on_answer;
mod probe;

use serde::{Deserialize, Serialize};

use super::Reason;
use crate::{
    EndpointId, OrgId, Timestamp,
    id::{Tail, derived},
};

/// One URL of an organization, and how it does.
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

/// Whether something may be sent to an endpoint now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Open,
    /// One attempt, to see whether it is well again: [`Endpoint::start_probe`] takes it.
    Probe,
    Shut {
        reason: Reason,
        /// `None`: until somebody resumes it.
        until: Option<Timestamp>,
    },
}

/// From so many failures in a row on, other workers are told.
const SHARED_FROM: u32 = 4;

impl Endpoint {
    /// One of which nothing is known, and so nothing bad.
    pub fn new(org_id: OrgId, url: impl Into<String>) -> Self {
        let url = url.into();
        Self {
            id: EndpointId::of(org_id, &url),
            org_id,
            url,
            status: Status::Active,
            breaker: None,
            quiet_until: None,
            gone_at: None,
            failing: None,
        }
    }

    /// Whether there is nothing to remember: it can be forgotten, and made anew when it fails.
    pub fn is_plain(&self) -> bool {
        self.status == Status::Active
            && self.breaker.is_none()
            && self.quiet_until.is_none()
            && self.gone_at.is_none()
            && self.failing.is_none()
    }

    /// What a person wants comes first, then what the receiver asked for, then what we guess.
    pub fn gate(&self, now: Timestamp) -> Gate {
        let shut = |reason, until| Gate::Shut { reason, until };
        match self.status {
            Status::Paused { .. } => return shut(Reason::Paused, None),
            Status::Disabled { .. } => return shut(Reason::Disabled, None),
            Status::Active => {}
        }
        if let Some(until) = self.quiet_until.filter(|until| *until > now) {
            return shut(Reason::RetryAfter, Some(until));
        }
        match self.breaker {
            None => Gate::Open,
            Some(breaker) if breaker.probe_at <= now => Gate::Probe,
            Some(breaker) => shut(Reason::Breaker, Some(breaker.probe_at)),
        }
    }

    /// Somebody wants quiet. A disabled endpoint stays disabled: nothing is sent to it anyway, and why
    /// is worth knowing.
    pub fn pause(&mut self, now: Timestamp) -> Option<Notice> {
        if self.status != Status::Active {
            return None;
        }
        self.status = Status::Paused { since: now };
        Some(Notice::Paused)
    }

    /// Somebody says that it is fine: whatever was held against it is forgotten, so that it gets all
    /// the patience of a new one.
    pub fn resume(&mut self) -> Option<Notice> {
        if self.is_plain() {
            return None;
        }
        *self = Self::new(self.org_id, std::mem::take(&mut self.url));
        Some(Notice::Resumed)
    }

    /// Whether this tells other workers or people something that `shared`, an older value, does not.
    ///
    /// A failure or two between successes is nobody's business: an endpoint that fails now and then would
    /// be written for every one of them. If only a count moved on, it is told at 4, 8, 16 and so on: a
    /// receiver that refuses a thousand deliveries a second should not make us write a thousand times.
    /// Until then a worker keeps the value to itself and goes on counting from it; a count that somebody
    /// else writes over is lost, so attempts may have been more than they say, never fewer.
    pub fn differs_in_substance(&self, shared: &Self) -> bool {
        let in_substance = |endpoint: &Self| Self {
            failing: endpoint.failing.and_then(Failing::in_substance),
            ..endpoint.clone()
        };
        in_substance(self) != in_substance(shared)
    }
}

impl Failing {
    /// What of it has to be shared.
    fn in_substance(self) -> Option<Self> {
        let was_told = self.notices > 0 || self.told_rejecting || self.told_redirecting;
        (was_told || self.attempts >= SHARED_FROM).then(|| Self {
            attempts: self.attempts.checked_ilog2().unwrap_or(0),
            rejected: 0,
            ..self
        })
    }
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
    /// Whether its owner was told that it refuses.
    pub told_rejecting: bool,
    /// Whether its owner was told that it redirects.
    pub told_redirecting: bool,
}

/// Something about an endpoint that its owner should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    BreakerOpened,
    BreakerClosed,
    /// It has failed for 15 minutes, an hour, a day.
    #[serde(rename = "failing_15_minutes")]
    FailingFor15Minutes,
    #[serde(rename = "failing_1_hour")]
    FailingForAnHour,
    #[serde(rename = "failing_1_day")]
    FailingForADay,
    /// It refused three deliveries in a row.
    Rejecting,
    /// It wants to send us elsewhere.
    Redirecting,
    Disabled,
    Paused,
    /// Somebody ended a pause, or enabled it again.
    Resumed,
    /// It did not give its challenge back: see [`ownership`](super::ownership).
    Unverified,
    /// It did. The last, because records number them.
    Verified,
}

impl Notice {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BreakerOpened => "breaker_opened",
            Self::BreakerClosed => "breaker_closed",
            Self::FailingFor15Minutes => "failing_15_minutes",
            Self::FailingForAnHour => "failing_1_hour",
            Self::FailingForADay => "failing_1_day",
            Self::Rejecting => "rejecting",
            Self::Redirecting => "redirecting",
            Self::Disabled => "disabled",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::Unverified => "unverified",
            Self::Verified => "verified",
        }
    }
}

/// The `event_type` of the audit event that a notice is.
pub const EVENT_TYPE: &str = "endpoint_change";

/// What makes its id beside its time: told again it is the same event.
pub fn event_tail(endpoint: EndpointId, notice: Notice) -> Tail {
    Tail::Derived(derived(
        endpoint.uuid().as_bytes(),
        notice.as_str().as_bytes(),
    ))
}
