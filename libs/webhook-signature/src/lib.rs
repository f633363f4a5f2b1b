//! Sign and verify Watchbell webhook deliveries.
//!
//! A receiver needs two lines: one where it starts, one where a delivery arrives.
//!
//! ```
//! # use std::time::SystemTime;
//! # use webhook_signature::{Verifier, sign};
//! # fn main() -> Result<(), webhook_signature::Refusal> {
//! # let (secret, body) = ("<SIGNING_SECRET>", br#"{"rule_id":"rul_1"}"#.as_slice());
//! # let at = time::OffsetDateTime::now_utc();
//! # let at = at.format(&time::format_description::well_known::Rfc3339).expect("a year below 10000");
//! # let (timestamp, signature) = (Some(at.as_str()), Some(sign(secret.as_bytes(), &at, body)));
//! # let signature = signature.as_deref();
//! let verifier = Verifier::new([secret]);
//! verifier.verify(timestamp, signature, body, SystemTime::now())?;
//! # Ok(())
//! # }
//! ```
//!
//! `timestamp` and `signature` are the values of [`TIMESTAMP_HEADER`] and [`SIGNATURE_HEADER`],
//! `None` when the header is absent. `body` is the request body exactly as it arrived: parsing the
//! JSON and writing it again changes its bytes, and the signature no longer matches.
//!
//! A [`Refusal`] knows its answer: [`Refusal::http_status`] is 400 when the time is at fault and 401
//! otherwise. `examples/receiver.rs` is a whole receiver.
//!
//! What is signed is the timestamp header's value, a full stop, and the body, with HMAC-SHA-256.
//! The key is the bytes of the secret as it was given to you, including a `whsec_` prefix if it has
//! one. Only the additional [`standard`] scheme decodes such a secret.

mod keyed;
mod refusal;
mod sign;
pub mod standard;
mod timestamp;
mod verify;

pub use refusal::{Refusal, Side};
pub use sign::{Signer, sign};
pub use timestamp::REPLAY_WINDOW;
pub use verify::Verifier;

/// When the delivery was signed, for example `2026-01-15T12:00:00.000Z`. On every delivery.
pub const TIMESTAMP_HEADER: &str = "x-service-timestamp";

/// `sha256=<hex>`. On every delivery of a deployment that has a signing secret.
pub const SIGNATURE_HEADER: &str = "x-service-signature";

/// The same, made with the secret that was replaced, for the time that it goes on beside the current one.
pub const PREVIOUS_SIGNATURE_HEADER: &str = "x-service-signature-previous";

/// The same, made with the secret that is going to replace the current one.
pub const NEXT_SIGNATURE_HEADER: &str = "x-service-signature-next";

/// The type of the matched event, so that a receiver can route before it parses.
pub const EVENT_HEADER: &str = "x-service-event";

/// The same for every attempt of a delivery, so that a receiver can recognize a repetition.
pub const DELIVERY_ID_HEADER: &str = "x-service-delivery-id";
