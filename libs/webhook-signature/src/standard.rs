//! The additional signature in the form of Standard Webhooks 1.0 (standardwebhooks.com), for
//! receivers that already have a verifier for it.
//!
//! It differs from the service's own signature in three ways: the time is in whole seconds since
//! 1970, the delivery id is signed as well, and the key is the decoded secret. A header may carry
//! several signatures, separated by spaces; one that matches is enough.
//!
//! ```
//! # use std::time::{Duration, UNIX_EPOCH};
//! # use webhook_signature::standard;
//! let key = standard::Key::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a whsec_ secret");
//! let signature = standard::sign(&key, "del_1", 1_768_478_400, b"{}");
//! # let now = UNIX_EPOCH + Duration::from_secs(1_768_478_400);
//! standard::verify(&[key], Some("del_1"), Some("1768478400"), Some(&signature), b"{}", now)?;
//! # Ok::<(), webhook_signature::Refusal>(())
//! ```

use std::fmt;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use subtle::{Choice, ConstantTimeEq};

use crate::keyed::Keyed;
use crate::{Refusal, timestamp};

/// The delivery id, the same for every attempt.
pub const ID_HEADER: &str = "webhook-id";

/// When the delivery was signed, in whole seconds since 1970.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";

/// One or more `v1,<base64>`, separated by spaces.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

const SECRET_PREFIX: &str = "whsec_";

/// A key of the symmetric scheme. Its `Debug` output does not show it.
#[derive(Clone)]
pub struct Key(Keyed);

impl Key {
    /// Decodes `whsec_<base64>`; `None` for any other secret.
    ///
    /// The base64 must be standard and padded, because the published verifiers accept nothing else:
    /// a signature with a key they cannot read would help nobody. An empty key is refused.
    pub fn parse(secret: &str) -> Option<Self> {
        let decoded = BASE64.decode(secret.strip_prefix(SECRET_PREFIX)?).ok()?;
        (!decoded.is_empty()).then(|| Self(Keyed::new(&decoded)))
    }
}

/// Returns `v1,<base64>`. To send the signatures of several keys, join them with spaces.
///
/// `id` must not contain a full stop, or the signed text could be cut in another place; [`verify`]
/// refuses such an id.
pub fn sign(key: &Key, id: &str, unix_seconds: i64, body: &[u8]) -> String {
    sign_text(key, id, &unix_seconds.to_string(), body)
}

/// Accepts a delivery if one of its signatures was made with one of `keys`, at most
/// [`REPLAY_WINDOW`](crate::REPLAY_WINDOW) away from `now`.
///
/// `id`, `timestamp` and `signatures` are header values, `None` when the header is absent.
/// Signatures of a scheme other than `v1` are passed over.
pub fn verify(
    keys: &[Key],
    id: Option<&str>,
    timestamp: Option<&str>,
    signatures: Option<&str>,
    body: &[u8],
    now: SystemTime,
) -> Result<(), Refusal> {
    let timestamp = timestamp.ok_or(Refusal::TimestampMissing)?;
    timestamp::within_window(timestamp::parse_unix_seconds(timestamp)?, now)?;

    let id = id
        .filter(|id| !id.is_empty() && !id.contains('.'))
        .ok_or(Refusal::IdUnusable)?;
    let signatures = signatures.ok_or(Refusal::SignatureMissing)?;

    // No early exit, as in `Verifier::verify_any`. A signature of another scheme starts with
    // another name, so comparing the whole text passes over it.
    let mut matches = Choice::from(0);
    for key in keys {
        let expected = sign_text(key, id, timestamp, body);
        for signature in signatures.split(' ') {
            matches |= expected.as_bytes().ct_eq(signature.as_bytes());
        }
    }
    if bool::from(matches) {
        Ok(())
    } else {
        Err(Refusal::SignatureMismatch)
    }
}

fn sign_text(key: &Key, id: &str, timestamp: &str, body: &[u8]) -> String {
    let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
    format!("v1,{}", BASE64.encode(key.0.digest(&signed)))
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}
