//! Throw-away folders that the engines can use, and that do not pile up.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use engines::FolderLock;
use tempfile::TempDir;

const PREFIX: &str = "watchbell-test-";

/// A folder that old and has no user: its run was killed. A younger one may be about to be used.
const SWEEP_AGE: Duration = Duration::from_mins(10);

/// A folder below the system's temporary one, removed when dropped.
#[derive(Debug)]
pub struct TestFolder {
    held: TempDir,
    _lock: FolderLock,
}

impl TestFolder {
    pub fn create() -> anyhow::Result<Self> {
        let held = tempfile::Builder::new()
            .prefix(PREFIX)
            // When tests run as root, PostgreSQL's own user must be able to enter.
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir()
            .context("create a temporary folder")?;
        let lock = FolderLock::acquire(held.path())?;
        Ok(Self { held, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.held.path()
    }
}

/// Removes the folders that killed runs left. Best effort: who cannot remove one leaves it.
pub fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for folder in entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|folder| is_old(folder))
    {
        if FolderLock::acquire(&folder).is_ok() {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

fn is_old(path: &Path) -> bool {
    let is_ours = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let age = || fs::metadata(path).ok()?.modified().ok()?.elapsed().ok();
    is_ours && age().is_some_and(|age| age > SWEEP_AGE)
}
