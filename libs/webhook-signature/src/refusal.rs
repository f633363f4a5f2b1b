//! Why a delivery was refused, and what its receiver answers.

use std::fmt;
use std::time::Duration;

/// Why a delivery was refused.
///
/// The text is for the developer of the receiver and says what to look at. The sender needs only
/// the [status](Self::http_status).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error(
        "the delivery has no timestamp: pass the value of the X-Service-Timestamp header \
         (webhook-timestamp for Standard Webhooks), and check that no proxy in front of the \
         receiver removes it"
    )]
    TimestampMissing,

    #[error(
        "the timestamp cannot be read: pass the header value unchanged; X-Service-Timestamp looks \
         like 2026-01-15T12:00:00.000Z and webhook-timestamp like 1768478400"
    )]
    TimestampUnparseable,

    #[error(
        "the delivery was signed {:.3} s {side} this machine's time, and at most 300 s is accepted: \
         check that the clock is synchronized; if it is, this is an old request sent again",
        .off_by.as_secs_f64()
    )]
    TimestampOutsideWindow {
        /// How far the timestamp is from now.
        off_by: Duration,
        side: Side,
    },

    #[error(
        "the delivery has no signature: pass the value of the X-Service-Signature header \
         (webhook-signature for Standard Webhooks); it is absent if no signing secret is \
         configured in Watchbell"
    )]
    SignatureMissing,

    #[error(
        "the signature does not match: check that the secret is the one shown in Watchbell, and \
         that the body is verified as received, not parsed and written again"
    )]
    SignatureMismatch,

    #[error(
        "the body is not UTF-8, so it is not what was signed: check that nothing decompresses, \
         converts or cuts the body before it is verified"
    )]
    BodyNotUtf8,

    /// Only for Standard Webhooks, where the id is signed as well.
    #[error(
        "the delivery id is missing, empty or contains a full stop: pass the value of the \
         webhook-id header unchanged"
    )]
    IdUnusable,
}

/// On which side of now a timestamp is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Past,
    Future,
}

impl Refusal {
    /// The status a receiver answers with: 400 if the timestamp is at fault, 401 otherwise (service
    /// specification, 5.2.8).
    pub fn http_status(&self) -> u16 {
        match self {
            Self::TimestampMissing
            | Self::TimestampUnparseable
            | Self::TimestampOutsideWindow { .. } => 400,
            Self::SignatureMissing
            | Self::SignatureMismatch
            | Self::BodyNotUtf8
            | Self::IdUnusable => 401,
        }
    }

    /// A stable name for logs and metrics, the same in every language's library.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TimestampMissing => "timestamp_missing",
            Self::TimestampUnparseable => "timestamp_unparseable",
            Self::TimestampOutsideWindow { .. } => "timestamp_outside_window",
            Self::SignatureMissing => "signature_missing",
            Self::SignatureMismatch => "signature_mismatch",
            Self::BodyNotUtf8 => "body_not_utf8",
            Self::IdUnusable => "id_unusable",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Past => "before",
            Self::Future => "after",
        })
    }
}
