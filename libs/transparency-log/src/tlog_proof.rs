//! The proof of one entry, to be kept and verified offline (C2SP tlog-proof): where it is, and what signed tree it is in.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::lines::{PROOF_LINES_MAX, hashes_until_empty_line};
use crate::tree::checked_size;
use crate::{Error, Hash, Signed, SignedCheckpoint, VerifierKey, decimal, verify_inclusion};

const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// Enough for whatever leads to an entry: as much as an entry may have.
pub const EXTRA_BYTES_MAX: usize = 65_535;

/// A proof of inclusion with its checkpoint. Nothing is verified until [`verify`](Self::verify) says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlogProof {
    extra: Option<Vec<u8>>,
    index: u64,
    hashes: Vec<Hash>,
    checkpoint: SignedCheckpoint,
}

/// What a proof proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proven<'k> {
    /// Where the entry is in the log.
    pub index: u64,
    /// How many entries the log had.
    pub size: u64,
    /// The witnesses that cosigned, out of those that were given. How many are enough, the caller decides.
    pub cosigned: Vec<Signed<'k>>,
}

impl TlogProof {
    pub fn new(index: u64, hashes: Vec<Hash>, checkpoint: SignedCheckpoint) -> Result<Self, Error> {
        checked_size(index)?;
        if hashes.len() > PROOF_LINES_MAX {
            return Err(Error::ProofMalformed("it has more than 63 hashes"));
        }
        Ok(Self {
            extra: None,
            index,
            hashes,
            checkpoint,
        })
    }

    /// Adds data for whoever verifies. Nothing vouches for it.
    pub fn with_extra(self, extra: Vec<u8>) -> Result<Self, Error> {
        if extra.is_empty() || extra.len() > EXTRA_BYTES_MAX {
            return Err(Error::ProofMalformed("its extra data is empty or too long"));
        }
        Ok(Self {
            extra: Some(extra),
            ..self
        })
    }

    pub fn parse(text: &str) -> Result<Self, Error> {
        let (first, rest) = next_line(text)?;
        if first != FIRST_LINE {
            return Err(Error::ProofMalformed(
                "its first line is not c2sp.org/tlog-proof@v1",
            ));
        }
        let (second, after_second) = next_line(rest)?;
        let (extra, rest) = match second.strip_prefix("extra ") {
            Some(encoded) => (Some(decoded_extra(encoded)?), after_second),
            None => (None, rest),
        };
        let (index, rest) = next_line(rest)?;
        let index = index
            .strip_prefix("index ")
            .and_then(decimal::parse)
            .ok_or(Error::ProofMalformed("a line is not: index <number>"))?;
        let (hashes, checkpoint) = hashes_until_empty_line(rest, Error::ProofMalformed)?;
        let proof = Self::new(index, hashes, SignedCheckpoint::parse(checkpoint)?)?;
        match extra {
            Some(extra) => proof.with_extra(extra),
            None => Ok(proof),
        }
    }

    /// Accepts that `leaf` is in the log `origin`, which signed the tree with one of `log_keys`; and counts which of
    /// `witnesses` saw that tree.
    pub fn verify<'k>(
        &self,
        leaf: &Hash,
        origin: &str,
        log_keys: &[VerifierKey],
        witnesses: &'k [VerifierKey],
    ) -> Result<Proven<'k>, Error> {
        let checkpoint = self.checkpoint.verify(origin, log_keys)?;
        let cosigned = self.checkpoint.cosigned_by(witnesses)?;
        let (size, root) = (checkpoint.size(), checkpoint.root());
        verify_inclusion(leaf, self.index, size, root, &self.hashes)?;
        Ok(Proven {
            index: self.index,
            size,
            cosigned,
        })
    }

    /// Data for whoever verifies. Nothing vouches for it.
    pub fn extra(&self) -> Option<&[u8]> {
        self.extra.as_deref()
    }

    pub fn index(&self) -> u64 {
        self.index
    }

    /// From the leaf's sibling up to the root's child.
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    pub fn checkpoint(&self) -> &SignedCheckpoint {
        &self.checkpoint
    }
}

impl fmt::Display for TlogProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "extra {}", BASE64.encode(extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        self.hashes
            .iter()
            .try_for_each(|hash| writeln!(f, "{hash}"))?;
        write!(f, "\n{}", self.checkpoint)
    }
}

impl FromStr for TlogProof {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

fn next_line(text: &str) -> Result<(&str, &str), Error> {
    text.split_once('\n')
        .ok_or(Error::ProofMalformed("it ends too early"))
}

fn decoded_extra(encoded: &str) -> Result<Vec<u8>, Error> {
    if encoded.len() > EXTRA_BYTES_MAX.div_ceil(3) * 4 {
        return Err(Error::ProofMalformed("its extra data is empty or too long"));
    }
    BASE64
        .decode(encoded)
        .map_err(|_| Error::ProofMalformed("its extra data is not base64"))
}
