//! What a witness remembers: for each log one file, the last checkpoint that it cosigned.
//!
//! A file is named by the SHA-256 of the log's origin in hex, and is the checkpoint as anyone may read it: with the signatures of
//! the log and of this witness. It is replaced before a cosignature is sent, and never by a tree that does not continue it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use sha2::{Digest as _, Sha256};
use transparency_log::{SignedCheckpoint, VerifierKey, witness::Seen};

use super::folder;

const FOLDER: &str = "checkpoints";

/// The memory of the witness that has this key.
#[derive(Debug)]
pub(super) struct Memory {
    folder: PathBuf,
    own_key: VerifierKey,
}

impl Memory {
    pub(super) fn new(folder: &Path, own_key: VerifierKey) -> Self {
        Self {
            folder: folder.join(FOLDER),
            own_key,
        }
    }

    /// The last checkpoint of this log that was cosigned, if any was. One that cannot be read is not the same as none.
    pub(super) fn last(&self, origin_hash: &str) -> anyhow::Result<Option<SignedCheckpoint>> {
        let file = self.folder.join(origin_hash);
        let about = || format!("read {}", file.display());
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.with_context(about)?,
        };
        let last = SignedCheckpoint::parse(&text).with_context(about)?;
        let is_ours = !last
            .cosigned_by(std::slice::from_ref(&self.own_key))
            .with_context(about)?
            .is_empty();
        ensure!(
            is_ours && hash(last.unverified().origin()) == origin_hash,
            "{} is not what this witness wrote",
            file.display()
        );
        Ok(Some(last))
    }

    /// Replaces it. On disk when this returns.
    pub(super) fn keep(&self, checkpoint: &SignedCheckpoint) -> anyhow::Result<()> {
        let name = hash(checkpoint.unverified().origin());
        folder::write(&self.folder, &name, checkpoint.to_string().as_bytes())?;
        Ok(())
    }
}

/// The tree of a checkpoint.
pub(super) fn seen(last: &SignedCheckpoint) -> Seen {
    let checkpoint = last.unverified();
    Seen {
        size: checkpoint.size(),
        root: *checkpoint.root(),
    }
}

/// What a log is called in the names of files and in addresses.
pub(super) fn hash(origin: &str) -> String {
    hex::encode(Sha256::digest(origin))
}

pub(super) fn create(folder: &Path) -> anyhow::Result<()> {
    folder::create(&folder.join(FOLDER))
}

pub(super) fn is_there(folder: &Path) -> bool {
    folder.join(FOLDER).is_dir()
}

/// Whether no log is remembered.
pub(super) fn is_empty(folder: &Path) -> anyhow::Result<bool> {
    let folder = folder.join(FOLDER);
    match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        listed => {
            let mut listed = listed.with_context(|| format!("read {}", folder.display()))?;
            Ok(listed.next().is_none())
        }
    }
}
