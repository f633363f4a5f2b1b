//! The signature of one delivery, as the sender writes it and the receiver recomputes it.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Returns the value of the signature header: `sha256=` and the lowercase hexadecimal
/// HMAC-SHA-256 of `timestamp`, a full stop and `body`.
///
/// `timestamp` is the value of the timestamp header, unchanged.
pub fn sign(secret: &[u8], timestamp: &str, body: &[u8]) -> String {
    sign_with(&keyed(secret), timestamp, body)
}

/// An HMAC that already holds its key. Kept in place of the secret, it saves hashing the key for
/// each delivery.
pub(crate) type Keyed = Hmac<Sha256>;

pub(crate) fn keyed(secret: &[u8]) -> Keyed {
    Keyed::new_from_slice(secret).expect("HMAC takes a key of any length")
}

pub(crate) fn sign_with(key: &Keyed, timestamp: &str, body: &[u8]) -> String {
    let mut hex = hex::encode(digest(key, &[timestamp.as_bytes(), b".", body]));
    hex.insert_str(0, "sha256=");
    hex
}

/// The HMAC of the parts, one after the other.
pub(crate) fn digest(key: &Keyed, parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = key.clone();
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}
