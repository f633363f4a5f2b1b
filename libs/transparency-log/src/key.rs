//! Keys of signed notes: who verifies with them, who signs, and how they are written (C2SP signed-note).
//!
//! Ed25519 comes from `ed25519-dalek`, with and without the feature `aws-lc-rs`. Libraries disagree about odd keys and
//! signatures, and whoever verifies must come to the same verdict as whoever signed; signing once per checkpoint does not need
//! to be faster. An auditor's program builds it without a C compiler, and the journal's client needs it anyway.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::Signer;

use crate::hash::sha256;
use crate::{Error, Signature};

/// The longest name of a key. C2SP gives the names of cosigners one byte for their length.
const NAME_BYTES_MAX: usize = 255;

/// What a key signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// The text of a note, with Ed25519: how a log signs.
    Ed25519,
    /// A checkpoint and a time, with Ed25519: how a witness signs.
    CosignatureV1,
}

impl Algorithm {
    const ALL: [Self; 2] = [Self::Ed25519, Self::CosignatureV1];

    /// The signature type identifier.
    pub fn identifier(self) -> u8 {
        match self {
            Self::Ed25519 => 0x01,
            Self::CosignatureV1 => 0x04,
        }
    }
}

/// A public key with its name: `<name>+<id>+<key>`, a vkey.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    id: u32,
    algorithm: Algorithm,
    public: ed25519_dalek::VerifyingKey,
}

impl VerifierKey {
    pub fn new(name: &str, algorithm: Algorithm, public: &[u8; 32]) -> Result<Self, Error> {
        if !is_name(name) {
            return Err(Error::KeyMalformed(
                "its name is empty or too long, or has a space, a plus sign or a control character",
            ));
        }
        let id = key_id(name, algorithm, public);
        let public = ed25519_dalek::VerifyingKey::from_bytes(public)
            .ok()
            .filter(|public| !public.is_weak())
            .ok_or(Error::KeyMalformed("it is not an Ed25519 public key"))?;
        Ok(Self {
            name: name.to_owned(),
            id,
            algorithm,
            public,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first four bytes of a hash of the name, the algorithm and the key. It identifies; it does not prove.
    pub fn id(&self) -> u32 {
        self.id
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub fn public(&self) -> &[u8; 32] {
        self.public.as_bytes()
    }

    pub(crate) fn verify_message(&self, message: &[u8], signature: &[u8]) -> Result<(), Error> {
        let verified = ed25519_dalek::Signature::from_slice(signature)
            .and_then(|signature| self.public.verify_strict(message, &signature));
        verified.map_err(|_| self.mismatch())
    }

    pub(crate) fn mismatch(&self) -> Error {
        Error::SignatureMismatch {
            name: self.name.clone(),
        }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = vec![self.algorithm.identifier()];
        key.extend_from_slice(self.public());
        write!(f, "{}+{:08x}+{}", self.name, self.id, BASE64.encode(key))
    }
}

impl fmt::Debug for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifierKey({self})")
    }
}

impl FromStr for VerifierKey {
    type Err = Error;

    fn from_str(vkey: &str) -> Result<Self, Error> {
        let mut parts = vkey.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(Error::KeyMalformed("it is not <name>+<id>+<key>"));
        };
        let key = BASE64
            .decode(key)
            .map_err(|_| Error::KeyMalformed("its last part is not base64"))?;
        let (identifier, public) = key
            .split_first()
            .ok_or(Error::KeyMalformed("its last part is empty"))?;
        let algorithm = Algorithm::ALL
            .into_iter()
            .find(|algorithm| algorithm.identifier() == *identifier)
            .ok_or(Error::KeyUnsupported(*identifier))?;
        let public = public
            .try_into()
            .map_err(|_| Error::KeyMalformed("an Ed25519 public key has 32 bytes"))?;
        let key = Self::new(name, algorithm, public)?;
        if id != hex::encode(key.id.to_be_bytes()) {
            return Err(Error::KeyMalformed(
                "its id is not that of this name and key",
            ));
        }
        Ok(key)
    }
}

/// A log's private key. Its `Debug` output does not show it, and it is wiped when dropped.
#[derive(Clone)]
pub struct SigningKey(KeyPair);

impl SigningKey {
    /// The key that RFC 8032 derives from 32 random bytes. `name` should be the log's origin.
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Result<Self, Error> {
        KeyPair::from_seed(name, Algorithm::Ed25519, seed).map(Self)
    }

    pub fn verifier_key(&self) -> &VerifierKey {
        &self.0.verifier
    }

    /// Signs the text of a note, which ends with a newline.
    pub fn sign(&self, text: &str) -> Signature {
        let signature = self.0.sign(text.as_bytes());
        Signature::new(&self.0.verifier, signature.to_vec())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, secret)", self.0.verifier.name)
    }
}

/// A private key and its public one.
#[derive(Clone)]
pub(crate) struct KeyPair {
    pub(crate) verifier: VerifierKey,
    /// Overwrites itself when dropped: the feature `zeroize` of `ed25519-dalek`.
    secret: ed25519_dalek::SigningKey,
}

impl KeyPair {
    pub(crate) fn from_seed(
        name: &str,
        algorithm: Algorithm,
        seed: &[u8; 32],
    ) -> Result<Self, Error> {
        let secret = ed25519_dalek::SigningKey::from_bytes(seed);
        let verifier = VerifierKey::new(name, algorithm, secret.verifying_key().as_bytes())?;
        Ok(Self { verifier, secret })
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.secret.sign(message).to_bytes()
    }
}

pub(crate) fn is_name(name: &str) -> bool {
    let is_forbidden = |char: char| char.is_whitespace() || char == '+' || char < ' ';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(is_forbidden)
}

fn key_id(name: &str, algorithm: Algorithm, public: &[u8; 32]) -> u32 {
    let hash = sha256(&[name.as_bytes(), b"\n", &[algorithm.identifier()], public]);
    let (id, _) = hash.split_first_chunk().expect("a hash has four bytes");
    u32::from_be_bytes(*id)
}
