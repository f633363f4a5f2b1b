//! What an answer means: whether a delivery is done, and whether trying again can help.

use serde::{Deserialize, Serialize};

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
}

impl Outcome {
    pub fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Delivered,
            300..=399 => Self::Redirect,
            408 | 425 | 429 | 500..=599 => Self::Transient,
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
            (
                Outcome::Rejected,
                vec![400, 401, 403, 404, 410, 422, 600, 199],
            ),
        ];
        for (outcome, statuses) in cases {
            for status in statuses {
                assert_eq!(Outcome::of_status(status), outcome, "{status}");
            }
        }
    }
}
