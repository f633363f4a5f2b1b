//! The folder of a witness: it belongs to one process, only its owner can look into it, and what was written there stays.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

/// A folder, and the lock that ends with the process.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Creates what is missing; refused while another process has it.
    pub(super) fn open(path: PathBuf) -> anyhow::Result<Self> {
        create(&path)?;
        let lock = path.join("lock");
        let about = || format!("lock {}", lock.display());
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&lock).with_context(about)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, _lock: file }),
            Err(TryLockError::WouldBlock) => bail!(
                "another witness is using {}: two with one memory could cosign two trees of one size",
                path.display()
            ),
            Err(TryLockError::Error(error)) => Err(error).with_context(about),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// A folder that only we can look into, on disk when this returns. One that is there stays as it is.
pub(super) fn create(path: &Path) -> anyhow::Result<()> {
    let about = || format!("create {}", path.display());
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .with_context(about)?;
    let path = path.canonicalize().with_context(about)?;
    let parent = path.parent().unwrap_or(&path);
    sync(parent).with_context(about)
}

/// Writes a file whole or not at all. When this returns, it is still there after a power cut.
pub(super) fn write(folder: &Path, name: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
    let file = folder.join(name);
    replace(folder, &file, bytes).with_context(|| format!("write {}", file.display()))?;
    Ok(file)
}

fn replace(folder: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    let fresh = file.with_extension("new");
    // A crash may have left one.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut written = options.open(&fresh)?;
    written.write_all(bytes)?;
    written.sync_all()?;
    fs::rename(&fresh, file)?;
    sync(folder)
}

/// A new name in a folder survives a power cut only after this.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
