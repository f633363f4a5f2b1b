//! What a log should not have signed, kept for whoever has to be shown: the checkpoint that the witness cosigned before, an
//! empty line, and the request as it came.

use std::{
    collections::HashSet,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use anyhow::Context as _;
use transparency_log::{AddCheckpoint, SignedCheckpoint};

use super::{folder, memory};

const FOLDER: &str = "evidence";
/// How many of a kind are kept of each log. Requests have at most 64 KiB, so a log fills some 13 MB.
const KEPT_MAX: usize = 100;
/// As much of a hash as a name needs.
const HASH_DIGITS: usize = 16;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// The log signed another tree of the size that it showed before. That proves itself.
    Fork,
    /// The log signed a tree, and whoever sent it did not prove that it continues the one before. Anyone can send a checkpoint
    /// with a bad proof, so this proves something only if the log itself cannot prove it either.
    Unproven,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fork => "fork",
            Self::Unproven => "unproven",
        })
    }
}

/// What became of it.
#[derive(Debug)]
pub(super) enum Kept {
    Here(PathBuf),
    /// This checkpoint is kept already, whatever proof came with it; or it was said that there is enough of this kind.
    Already,
    /// There is enough of this kind.
    Not,
}

/// Where it is kept.
#[derive(Debug)]
pub(super) struct Evidence {
    folder: PathBuf,
    /// Kinds of which there is enough: that is said once.
    full: Mutex<HashSet<String>>,
}

impl Evidence {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.join(FOLDER),
            full: Mutex::default(),
        }
    }

    pub(super) fn keep(
        &self,
        wrong: Wrong,
        before: &SignedCheckpoint,
        request: &AddCheckpoint,
    ) -> anyhow::Result<Kept> {
        folder::create(&self.folder)?;
        let checkpoint = request.checkpoint().unverified();
        let kind = format!(
            "{wrong}-{:.HASH_DIGITS$}-",
            memory::hash(checkpoint.origin())
        );
        let root = hex::encode(checkpoint.root().as_bytes());
        let name = format!("{kind}{}-{root:.HASH_DIGITS$}.txt", checkpoint.size());
        if self.folder.join(&name).exists() {
            return Ok(Kept::Already);
        }
        if self.count(&kind)? >= KEPT_MAX {
            let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
            return Ok(if full.insert(kind) {
                Kept::Not
            } else {
                Kept::Already
            });
        }
        let text = format!("{before}\n{request}");
        folder::write(&self.folder, &name, text.as_bytes()).map(Kept::Here)
    }

    /// How many names begin like this.
    fn count(&self, start: &str) -> anyhow::Result<usize> {
        let listed = fs::read_dir(&self.folder)
            .with_context(|| format!("read {}", self.folder.display()))?;
        Ok(listed
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
            .count())
    }
}
