//! Deciding whether a delivery is authentic and recent.

use std::fmt;
use std::time::SystemTime;

use subtle::{Choice, ConstantTimeEq};

use crate::{Refusal, Signer, timestamp};

/// Verifies deliveries with one secret, or with several while a secret is rotated.
///
/// Build it once and keep it; it can be shared between threads. Its `Debug` output shows how many
/// secrets it holds, never the secrets.
#[derive(Clone)]
pub struct Verifier {
    keys: Vec<Signer>,
}

impl Verifier {
    /// A delivery is accepted if it was signed with any one of `secrets`.
    ///
    /// An empty secret is left out: everybody knows it, and it is usually a setting that was
    /// forgotten. Without any secret, every delivery is a mismatch.
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let keys = secrets
            .into_iter()
            .filter(|secret| !secret.as_ref().is_empty())
            .map(|secret| Signer::new(secret.as_ref()))
            .collect();
        Self { keys }
    }

    /// Accepts a delivery that was signed with one of the secrets, at most
    /// [`REPLAY_WINDOW`](crate::REPLAY_WINDOW) away from `now`.
    ///
    /// `timestamp` and `signature` are header values, `None` when the header is absent. `body` is
    /// the request body as it arrived. `now` is `SystemTime::now()` outside of tests.
    ///
    /// The time is judged first, so that a late delivery is told so whatever its signature says.
    pub fn verify(
        &self,
        timestamp: Option<&str>,
        signature: Option<&str>,
        body: &[u8],
        now: SystemTime,
    ) -> Result<(), Refusal> {
        self.verify_any(timestamp, &[signature], body, now)
    }

    /// Like [`verify`](Self::verify), and accepts when any one of several signature headers matches.
    ///
    /// For a receiver that has only one of the secrets while the sender rotates: pass the values of
    /// [`SIGNATURE_HEADER`](crate::SIGNATURE_HEADER),
    /// [`PREVIOUS_SIGNATURE_HEADER`](crate::PREVIOUS_SIGNATURE_HEADER) and
    /// [`NEXT_SIGNATURE_HEADER`](crate::NEXT_SIGNATURE_HEADER).
    pub fn verify_any(
        &self,
        timestamp: Option<&str>,
        signatures: &[Option<&str>],
        body: &[u8],
        now: SystemTime,
    ) -> Result<(), Refusal> {
        let timestamp = timestamp.ok_or(Refusal::TimestampMissing)?;
        timestamp::within_window(timestamp::parse(timestamp)?, now)?;

        if signatures.iter().all(Option::is_none) {
            return Err(Refusal::SignatureMissing);
        }
        // What is signed is text, so bytes that are no text were never signed by us. A receiver
        // that decoded them loosely would compare the signature of another body.
        if str::from_utf8(body).is_err() {
            return Err(Refusal::BodyNotUtf8);
        }

        // No early exit: how long this takes must not tell which secret or signature matched.
        let mut matches = Choice::from(0);
        for key in &self.keys {
            let expected = key.sign(timestamp, body);
            for signature in signatures.iter().flatten() {
                matches |= expected.as_bytes().ct_eq(signature.as_bytes());
            }
        }
        if bool::from(matches) {
            Ok(())
        } else {
            Err(Refusal::SignatureMismatch)
        }
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verifier({} secrets)", self.keys.len())
    }
}
