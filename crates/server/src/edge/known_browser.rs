//! The mark of a browser that somebody was let in with: what strangers use up is not used up for it.
//!
//! Anybody may try to log in to any account, so a limit for each account (`limits.login_elsewhere`) would let anybody keep
//! its owner out. The mark says that a browser is the owner's. It is signed with the hash of their password, which nobody
//! else has: so it needs no place to be kept, nobody else can make one, and a new password ends it. It opens nothing.

use std::{fmt, time::Duration};

use hmac::{Hmac, KeyInit as _, Mac as _};
use runtime::random;
use sha2::Sha256;

/// Browsers keep no cookie for longer (RFC 6265bis).
pub const LASTS: Duration = Duration::from_hours(400 * 24);

const PREFIX: &str = "wbb_";
/// What is signed, so that nothing else that is ever signed is the same.
const PURPOSE: &[u8] = b"watchbell browser 1\n";
/// 128 bits: no two browsers have the same name by chance.
const NAME_BYTES: usize = 16;
/// Of HMAC-SHA-256.
const SIGNATURE_BYTES: usize = 32;

/// What a browser is known by. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct BrowserMark([u8; NAME_BYTES + SIGNATURE_BYTES]);

impl BrowserMark {
    /// A mark for a browser of the account whose password has this hash.
    pub fn new(password_hash: &str) -> Self {
        let mut mark = [0; NAME_BYTES + SIGNATURE_BYTES];
        let (name, signature) = mark.split_at_mut(NAME_BYTES);
        random::fill(name);
        signature.copy_from_slice(&signed(name, password_hash).finalize().into_bytes());
        Self(mark)
    }

    /// `None` for anything that was never a mark.
    pub fn parse(text: &str) -> Option<Self> {
        let mut mark = [0; NAME_BYTES + SIGNATURE_BYTES];
        hex::decode_to_slice(text.strip_prefix(PREFIX)?, &mut mark).ok()?;
        Some(Self(mark))
    }

    /// Whether it was made for the account whose password has this hash.
    pub fn is_of(&self, password_hash: &str) -> bool {
        let (name, signature) = self.0.split_at(NAME_BYTES);
        signed(name, password_hash).verify_slice(signature).is_ok()
    }

    /// What tells the browser from others, and is no secret.
    pub fn name(&self) -> String {
        hex::encode(&self.0[..NAME_BYTES])
    }

    /// The mark itself, for the cookie.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", hex::encode(self.0))
    }
}

fn signed(name: &[u8], password_hash: &str) -> Hmac<Sha256> {
    let key = password_hash.as_bytes();
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(PURPOSE);
    mac.update(name);
    mac
}

impl fmt::Debug for BrowserMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}...")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_of_the_password_that_it_was_made_for_alone() {
        let mark = BrowserMark::new("one hash");
        assert!(mark.is_of("one hash"));
        assert!(!mark.is_of("another hash"));
        let other = BrowserMark::new("one hash");
        assert_ne!(mark.name(), other.name());

        let text = mark.reveal();
        assert_eq!(BrowserMark::parse(&text), Some(mark.clone()));
        // The name of one browser with the signature of another.
        let signature = &other.reveal()[PREFIX.len() + 2 * NAME_BYTES..];
        let mixed = format!("{PREFIX}{}{signature}", mark.name());
        let mixed = BrowserMark::parse(&mixed).expect("it looks like a mark");
        assert!(!mixed.is_of("one hash"));
    }

    #[test]
    fn what_is_not_exactly_a_mark_is_none() {
        let text = BrowserMark::new("one hash").reveal();
        for text in [
            "",
            "wbb_",
            &text[PREFIX.len()..],
            &text[..text.len() - 1],
            &format!("{text}0"),
            &text.replace("wbb_", "wbs_"),
            &format!("wbb_{}", "x".repeat(2 * (NAME_BYTES + SIGNATURE_BYTES))),
        ] {
            assert_eq!(BrowserMark::parse(text), None, "{text}");
        }
    }

    #[test]
    fn debug_output_hides_the_mark() {
        assert_eq!(format!("{:?}", BrowserMark::new("one hash")), "wbb_...");
    }
}
