//! The witness's side of a log: what it is asked, and the rule by which it answers (C2SP tlog-witness).
//!
//! A witness keeps, for each log, the last size and root that it signed. It signs only what continues them, so a log that shows
//! different people different trees cannot get both signed.

use std::fmt;
use std::str::FromStr;

use crate::lines::{PROOF_LINES_MAX, hashes_until_empty_line};
use crate::{Error, Hash, SignedCheckpoint, VerifierKey, decimal, verify_consistency};

/// The content type of the answer 409, which is a size and a newline.
pub const SIZE_CONTENT_TYPE: &str = "text/x.tlog.size";

/// The body of `POST add-checkpoint`: a checkpoint, and the proof that it continues an older one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddCheckpoint {
    old_size: u64,
    proof: Vec<Hash>,
    checkpoint: SignedCheckpoint,
}

impl AddCheckpoint {
    /// `old_size` is what the witness signed last, and `proof` leads from there to the checkpoint.
    pub fn new(
        old_size: u64,
        proof: Vec<Hash>,
        checkpoint: SignedCheckpoint,
    ) -> Result<Self, Error> {
        if proof.len() > PROOF_LINES_MAX {
            return Err(Error::RequestMalformed("it has more than 63 hashes"));
        }
        Ok(Self {
            old_size,
            proof,
            checkpoint,
        })
    }

    pub fn parse(body: &str) -> Result<Self, Error> {
        let (old, rest) = body
            .split_once('\n')
            .ok_or(Error::RequestMalformed("its first line does not end"))?;
        let old_size = old
            .strip_prefix("old ")
            .and_then(decimal::parse)
            .ok_or(Error::RequestMalformed("its first line is not: old <size>"))?;
        let (proof, checkpoint) = hashes_until_empty_line(rest, Error::RequestMalformed)?;
        Self::new(old_size, proof, SignedCheckpoint::parse(checkpoint)?)
    }

    /// The size that the witness is believed to have signed last.
    pub fn old_size(&self) -> u64 {
        self.old_size
    }

    pub fn proof(&self) -> &[Hash] {
        &self.proof
    }

    pub fn checkpoint(&self) -> &SignedCheckpoint {
        &self.checkpoint
    }
}

impl fmt::Display for AddCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old_size)?;
        self.proof
            .iter()
            .try_for_each(|hash| writeln!(f, "{hash}"))?;
        write!(f, "\n{}", self.checkpoint)
    }
}

impl FromStr for AddCheckpoint {
    type Err = Error;

    fn from_str(body: &str) -> Result<Self, Error> {
        Self::parse(body)
    }
}

/// The last tree of a log that a witness signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub size: u64,
    pub root: Hash,
}

/// What a witness answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Store this as the last tree seen, unless another was stored meanwhile; then cosign the checkpoint.
    Cosign(Seen),
    /// The checkpoint is smaller than what it is said to continue.
    Reversed,
    /// No key of the log signed it, or a signature is wrong.
    NotSigned(Error),
    /// This witness does not know the log.
    UnknownLog,
    /// The witness signed another size last, this one: the log makes a proof from there and asks again. Or it signed another tree
    /// of this very size, and no proof helps.
    Conflict { size: u64 },
    /// It does not continue what the witness signed last.
    Inconsistent(Error),
}

impl Answer {
    /// The HTTP status. For a body that is not a request, which never gets here, it is 400.
    pub fn status(&self) -> u16 {
        match self {
            Self::Cosign(_) => 200,
            Self::Reversed => 400,
            Self::NotSigned(_) => 403,
            Self::UnknownLog => 404,
            Self::Conflict { .. } => 409,
            Self::Inconsistent(_) => 422,
        }
    }
}

/// What a witness answers that has these keys for the checkpoint's origin, and signed `seen` last.
pub fn judge(
    request: &AddCheckpoint,
    log_keys: Option<&[VerifierKey]>,
    seen: Option<Seen>,
) -> Answer {
    let Some(log_keys) = log_keys else {
        return Answer::UnknownLog;
    };
    if let Err(why) = request.checkpoint.note().verify(log_keys) {
        return Answer::NotSigned(why);
    }
    let checkpoint = request.checkpoint.unverified();
    if request.old_size > checkpoint.size() {
        return Answer::Reversed;
    }
    let seen = seen.unwrap_or_else(|| Seen {
        size: 0,
        root: Hash::of_empty_tree(),
    });
    let (size, root) = (checkpoint.size(), *checkpoint.root());
    let is_fork = size == seen.size && root != seen.root;
    if request.old_size != seen.size || is_fork {
        return Answer::Conflict { size: seen.size };
    }
    match verify_consistency(seen.size, &seen.root, size, &root, &request.proof) {
        Ok(()) => Answer::Cosign(Seen { size, root }),
        Err(why) => Answer::Inconsistent(why),
    }
}

/// The size in the body of a 409.
pub fn parse_conflict(body: &str) -> Result<u64, Error> {
    body.strip_suffix('\n')
        .and_then(decimal::parse)
        .ok_or(Error::RequestMalformed(
            "the witness's answer is not a size",
        ))
}
