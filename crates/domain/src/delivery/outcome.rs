//! What an answer means: whether a delivery is done, and whether trying again can help.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How an attempt ended, as far as anything follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub outcome: Outcome,
    /// `None`: there was no answer.
    pub status: Option<u16>,
    /// How long the receiver asks us to wait.
    pub retry_after: Option<Duration>,
    /// The receiver was too slow.
    pub timed_out: bool,
}

/// No receiver can quiet us for longer at a time: a slip of a digit should not silence alerts for weeks.
pub const QUIET_MAX: Duration = Duration::from_secs(24 * 60 * 60);

impl Answer {
    /// How long nothing should be sent to this receiver. Those who are overloaded or broken (429, 5xx)
    /// may ask for that; on any other answer `Retry-After` means nothing.
    pub fn quiet(&self) -> Option<Duration> {
        let asked = self.retry_after.filter(|asked| !asked.is_zero())?;
        match self.status {
            Some(429 | 500..=599) => Some(asked.min(QUIET_MAX)),
            _ => None,
        }
    }

    /// Whether it uses up a step of the schedule. A receiver that answers 429 is alive and asks for
    /// pace; a fault of ours is not the delivery's.
    pub fn is_charged(&self) -> bool {
        self.status != Some(429) && self.outcome != Outcome::OurFault
    }
}

/// The class of an attempt's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// 2xx, decided when the headers arrive.
    Delivered,
    /// The receiver is unwell or unreachable; trying again may help.
    Transient,
    /// The receiver refused; a bad deploy does this too, so it is tried again.
    Rejected,
    /// Never followed: it would leave the vetted address and turn the POST into a GET.
    Redirect,
    /// Trying again cannot help.
    Permanent,
    /// The address is forbidden; nothing was sent.
    Blocked,
    /// The receiver says that there is nobody any more.
    Gone,
    /// The fault is ours (our name server, say); it says nothing about the receiver.
    OurFault,
}

impl Outcome {
    /// Whether the receiver, or the way to it, had any part in it.
    pub fn is_about_the_receiver(self) -> bool {
        !matches!(self, Self::OurFault | Self::Blocked)
    }

    pub fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Delivered,
            300..=399 => Self::Redirect,
            408 | 425 | 429 | 500..=599 => Self::Transient,
            410 => Self::Gone,
            413 => Self::Permanent,
            _ => Self::Rejected,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Transient => "transient",
            Self::Rejected => "rejected",
            Self::Redirect => "redirect",
            Self::Permanent => "permanent",
            Self::Blocked => "blocked",
            Self::Gone => "gone",
            Self::OurFault => "our_fault",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_by_class() {
        let cases = [
            (Outcome::Delivered, vec![200, 201, 204, 299]),
            (Outcome::Redirect, vec![301, 302, 304, 308]),
            (
                Outcome::Transient,
                vec![408, 425, 429, 500, 502, 503, 504, 599],
            ),
            (Outcome::Permanent, vec![413]),
            (Outcome::Gone, vec![410]),
            (Outcome::Rejected, vec![400, 401, 403, 404, 422, 600, 199]),
        ];
        for (outcome, statuses) in cases {
            for status in statuses {
                assert_eq!(Outcome::of_status(status), outcome, "{status}");
            }
        }
    }
}
