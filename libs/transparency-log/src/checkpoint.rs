//! Checkpoints: what a log says its tree is, and signs (C2SP tlog-checkpoint).

use std::fmt;
use std::str::FromStr;

use crate::note::has_control_characters;
use crate::tree::checked_size;
use crate::{Edge, Error, Hash, Note, Signature, Signed, SigningKey, VerifierKey, decimal};

/// Which log, how many leaves, and their root: the text of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    origin: String,
    size: u64,
    root: Hash,
    extensions: Vec<String>,
}

impl Checkpoint {
    /// `origin` is the log's name, one line.
    pub fn new(origin: &str, size: u64, root: Hash) -> Result<Self, Error> {
        checked_size(size)?;
        if origin.is_empty() || origin.contains('\n') || has_control_characters(origin) {
            return Err(Error::CheckpointMalformed(
                "its origin is not a line of text",
            ));
        }
        Ok(Self {
            origin: origin.to_owned(),
            size,
            root,
            extensions: Vec::new(),
        })
    }

    /// The checkpoint of a tree as it is now.
    pub fn of(origin: &str, edge: &Edge) -> Result<Self, Error> {
        Self::new(origin, edge.size(), edge.root())
    }

    pub fn parse(text: &str) -> Result<Self, Error> {
        let lines = text
            .strip_suffix('\n')
            .ok_or(Error::CheckpointMalformed("its last line does not end"))?;
        if has_control_characters(text) {
            return Err(Error::CheckpointMalformed("it has a control character"));
        }
        let mut lines = lines.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next())
        else {
            return Err(Error::CheckpointMalformed("it has fewer than three lines"));
        };
        let size =
            decimal::parse(size).ok_or(Error::CheckpointMalformed("its size is not a number"))?;
        let root = root
            .parse()
            .map_err(|_| Error::CheckpointMalformed("its root is not a hash in base64"))?;
        let extensions: Vec<_> = lines.map(str::to_owned).collect();
        if extensions.iter().any(String::is_empty) {
            return Err(Error::CheckpointMalformed("it has an empty line"));
        }
        let checkpoint = Self::new(origin, size, root)?;
        Ok(Self {
            extensions,
            ..checkpoint
        })
    }

    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// How many leaves the tree has.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn root(&self) -> &Hash {
        &self.root
    }

    /// Lines below the root, whatever the log means by them.
    pub fn extensions(&self) -> &[String] {
        &self.extensions
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, self.root)?;
        self.extensions
            .iter()
            .try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl FromStr for Checkpoint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

/// A checkpoint with its signatures. Nothing is verified until [`verify`](Self::verify) says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    checkpoint: Checkpoint,
    note: Note,
}

impl SignedCheckpoint {
    /// Signs with every key: with more than one while a key is replaced.
    pub fn sign(checkpoint: Checkpoint, keys: &[&SigningKey]) -> Result<Self, Error> {
        let text = checkpoint.to_string();
        let signatures = keys.iter().map(|key| key.sign(&text)).collect();
        let note = Note::new(text, signatures)?;
        Ok(Self { checkpoint, note })
    }

    pub fn parse(text: &str) -> Result<Self, Error> {
        let note = Note::parse(text)?;
        let checkpoint = Checkpoint::parse(note.text())?;
        Ok(Self { checkpoint, note })
    }

    /// What the log says, if one of its keys signed it and it is of the log that was asked for.
    pub fn verify(&self, origin: &str, log_keys: &[VerifierKey]) -> Result<&Checkpoint, Error> {
        if self.checkpoint.origin != origin {
            return Err(Error::OriginMismatch {
                expected: origin.to_owned(),
                found: self.checkpoint.origin.clone(),
            });
        }
        self.note.verify(log_keys)?;
        Ok(&self.checkpoint)
    }

    /// Which of these witnesses cosigned it, perhaps none. One that is given under two names counts once.
    pub fn cosigned_by<'k>(&self, witnesses: &'k [VerifierKey]) -> Result<Vec<Signed<'k>>, Error> {
        let mut cosigned: Vec<Signed<'k>> = Vec::new();
        for signed in self.note.signed_by(witnesses)? {
            let counted = cosigned
                .iter()
                .any(|one| one.key.public() == signed.key.public());
            if signed.timestamp.is_some() && !counted {
                cosigned.push(signed);
            }
        }
        Ok(cosigned)
    }

    /// Adds a signature, for example a witness's.
    pub fn add(&mut self, signature: Signature) -> Result<(), Error> {
        self.note.add(signature)
    }

    /// What is claimed, verified or not.
    pub fn unverified(&self) -> &Checkpoint {
        &self.checkpoint
    }

    pub fn note(&self) -> &Note {
        &self.note
    }
}

impl fmt::Display for SignedCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.note.fmt(f)
    }
}

impl FromStr for SignedCheckpoint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}
