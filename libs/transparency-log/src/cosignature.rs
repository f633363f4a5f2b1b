//! Cosignatures: a witness's word that a checkpoint continues all it saw of a log before, and when (C2SP tlog-cosignature).

use std::fmt;

use crate::key::KeyPair;
use crate::{Algorithm, Checkpoint, Error, Signature, VerifierKey};

/// The latest time that fits into a cosignature.
pub const TIMESTAMP_MAX: u64 = i64::MAX.unsigned_abs();

/// A witness's private key. Its `Debug` output does not show it, and it is wiped when dropped.
#[derive(Clone)]
pub struct Cosigner(KeyPair);

impl Cosigner {
    /// The key that RFC 8032 derives from 32 random bytes. Use it for nothing else: what is signed does not say the name.
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Result<Self, Error> {
        KeyPair::from_seed(name, Algorithm::CosignatureV1, seed).map(Self)
    }

    pub fn verifier_key(&self) -> &VerifierKey {
        &self.0.verifier
    }

    /// Signs that, at this time in seconds since 1970, no larger tree of this log was seen. A witness has a clock, so the time
    /// is not 0.
    pub fn cosign(&self, checkpoint: &Checkpoint, unix_seconds: u64) -> Result<Signature, Error> {
        if unix_seconds == 0 || unix_seconds > TIMESTAMP_MAX {
            return Err(Error::TimestampOutOfRange);
        }
        let signed = message(&checkpoint.to_string(), unix_seconds);
        let signature = self.0.sign(signed.as_bytes());
        let bytes = [unix_seconds.to_be_bytes().as_slice(), &signature].concat();
        Ok(Signature::new(&self.0.verifier, bytes))
    }
}

impl fmt::Debug for Cosigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cosigner({}, secret)", self.0.verifier.name())
    }
}

/// Returns the time at which this text of a checkpoint was signed.
pub(crate) fn verify(key: &VerifierKey, text: &str, bytes: &[u8]) -> Result<u64, Error> {
    let (timestamp, signature) = bytes.split_first_chunk().ok_or_else(|| key.mismatch())?;
    let timestamp = u64::from_be_bytes(*timestamp);
    if timestamp > TIMESTAMP_MAX {
        return Err(Error::TimestampOutOfRange);
    }
    key.verify_message(message(text, timestamp).as_bytes(), signature)?;
    Ok(timestamp)
}

fn message(text: &str, timestamp: u64) -> String {
    format!("cosignature/v1\ntime {timestamp}\n{text}")
}
