//! The hashes of RFC 6962: of a leaf, of two subtrees, and of the empty tree.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::Error;

/// A leaf and a node start with different bytes, so that neither can be passed off as the other (RFC 6962, section 2.1).
const LEAF: u8 = 0;
const NODE: u8 = 1;

/// A SHA-256 hash, written in base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash([u8; Self::BYTES]);

impl Hash {
    pub const BYTES: usize = 32;

    /// The hash of a leaf: of an entry as it is stored, byte for byte.
    pub fn of_leaf(entry: &[u8]) -> Self {
        Self(sha256(&[&[LEAF], entry]))
    }

    /// The hash of a tree whose left and right subtrees have these hashes.
    pub fn of_node(left: &Self, right: &Self) -> Self {
        let mut bytes = [NODE; 1 + 2 * Self::BYTES];
        bytes[1..=Self::BYTES].copy_from_slice(&left.0);
        bytes[1 + Self::BYTES..].copy_from_slice(&right.0);
        Self(sha256(&[&bytes]))
    }

    /// The root of a tree without leaves.
    pub fn of_empty_tree() -> Self {
        Self(sha256(&[]))
    }

    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl FromStr for Hash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bytes = BASE64.decode(text).map_err(|_| Error::HashMalformed)?;
        let bytes = bytes.try_into().map_err(|_| Error::HashMalformed)?;
        Ok(Self(bytes))
    }
}

/// The SHA-256 of the parts, one after the other.
#[cfg(feature = "aws-lc-rs")]
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    use aws_lc_rs::digest::{Context, SHA256, digest};

    let digest = match parts {
        [whole] => digest(&SHA256, whole),
        _ => {
            let mut context = Context::new(&SHA256);
            for part in parts {
                context.update(part);
            }
            context.finish()
        }
    };
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// The SHA-256 of the parts, one after the other.
#[cfg(not(feature = "aws-lc-rs"))]
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    use sha2::{Digest, Sha256};

    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}
