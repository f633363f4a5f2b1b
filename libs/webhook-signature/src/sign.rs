//! The signature of one delivery, as the sender writes it and the receiver recomputes it.

use std::fmt;

use crate::keyed::Keyed;

/// Returns the value of the signature header: `sha256=` and the lowercase hexadecimal
/// HMAC-SHA-256 of `timestamp`, a full stop and `body`.
///
/// `timestamp` is the value of the timestamp header, unchanged.
pub fn sign(secret: &[u8], timestamp: &str, body: &[u8]) -> String {
    Signer::new(secret).sign(timestamp, body)
}

/// Signs many deliveries with one secret. Its `Debug` output does not show it.
#[derive(Clone)]
pub struct Signer(Keyed);

impl Signer {
    pub fn new(secret: &[u8]) -> Self {
        Self(Keyed::new(secret))
    }

    /// As [`sign`] does.
    pub fn sign(&self, timestamp: &str, body: &[u8]) -> String {
        let digest = self.0.digest(&[timestamp.as_bytes(), b".", body]);
        let mut signature = String::with_capacity(71);
        signature.push_str("sha256=");
        signature.push_str(&hex::encode(digest));
        signature
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(secret)")
    }
}
