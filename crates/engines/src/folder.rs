//! The folder that holds one set of engines: who may use it, and who can reach it.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::Error;

/// Held by whoever runs engines in the folder, until dropped or until the process ends.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Creates the folder when it is not there, and refuses with [`Error::FolderInUse`] when
    /// another process has it.
    pub fn acquire(folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        let path = folder.join("lock");
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The holder may be about to write its id; then we just do not name it.
                let _ = file.read_to_string(&mut holder);
                let holder = holder.trim().parse().ok();
                return Err(Error::FolderInUse {
                    folder: folder.to_owned(),
                    holder,
                });
            }
            Err(TryLockError::Error(error)) => {
                return Err(anyhow::Error::new(error)
                    .context(format!("lock {}", path.display()))
                    .into());
            }
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .with_context(|| format!("write {}", path.display()))?;
        Ok(Self { _file: file })
    }
}

/// The user that runs PostgreSQL when we are root, because PostgreSQL refuses to run as root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl Account {
    /// `None` when we are an ordinary user and everything runs as ourselves. Root runs PostgreSQL
    /// as whoever owns `data`, so that a folder made by an ordinary user keeps working, or as the
    /// user `postgres` when there is no data yet.
    pub(crate) fn for_postgres(data: &Path) -> anyhow::Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        if let Ok(owner) = fs::metadata(data) {
            if owner.uid() == 0 {
                bail!(
                    "{} belongs to root, and PostgreSQL does not run as root: \
                     run `chown -R postgres {0}`, or remove the folder to start over",
                    data.display()
                );
            }
            return Ok(Some(Self {
                user: owner.uid(),
                group: owner.gid(),
            }));
        }
        let account = Self {
            user: id_of_postgres("-u")?,
            group: id_of_postgres("-g")?,
        };
        Ok(Some(account))
    }

    /// PostgreSQL opens its data by the full path, so each folder above must let its user through.
    pub(crate) fn check_reaches(self, folder: &Path) -> anyhow::Result<()> {
        let mut ancestors: Vec<&Path> = folder.ancestors().collect();
        ancestors.reverse();
        for ancestor in ancestors {
            let facts = fs::metadata(ancestor)
                .with_context(|| format!("inspect {}", ancestor.display()))?;
            let bit = if facts.uid() == self.user {
                0o100
            } else if facts.gid() == self.group {
                0o010
            } else {
                0o001
            };
            if facts.mode() & bit == 0 {
                bail!(
                    "PostgreSQL runs as user {} here and cannot enter {}: choose a folder \
                     elsewhere (say, under /var/lib), or allow it with `chmod o+x {1}`, \
                     or run as an ordinary user",
                    self.user,
                    ancestor.display()
                );
            }
        }
        Ok(())
    }
}

fn id_of_postgres(which: &str) -> anyhow::Result<u32> {
    let output = Command::new("id")
        .args([which, "postgres"])
        .output()
        .with_context(|| format!("run `id {which} postgres`"))?;
    String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .context(
            "PostgreSQL does not run as root and there is no user `postgres` to run it as: \
         create one with `useradd --system postgres`, or run as an ordinary user",
        )
}

/// The same folder as an absolute path without links, so that a server's command line names it in
/// one way only (see `leftover`).
pub(crate) fn create(folder: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    folder
        .canonicalize()
        .with_context(|| format!("resolve {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_second_user_of_a_folder_is_told_who_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = FolderLock::acquire(folder.path()).expect("nobody has it");
        match FolderLock::acquire(folder.path()) {
            Err(Error::FolderInUse {
                folder: named,
                holder,
            }) => {
                assert_eq!(named, folder.path());
                assert_eq!(holder, Some(std::process::id()));
            }
            other => panic!("expected FolderInUse, got {other:?}"),
        }
        drop(first);
        FolderLock::acquire(folder.path()).expect("free again");
    }

    #[test]
    fn a_folder_that_postgres_may_not_enter_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let closed = folder.path().join("closed");
        let inside = closed.join("inside");
        fs::create_dir_all(&inside).expect("folders");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("chmod");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("chmod");
        let stranger = Account {
            user: u32::MAX - 1,
            group: u32::MAX - 1,
        };
        let error = stranger.check_reaches(&inside).expect_err("it is closed");
        assert!(
            error.to_string().contains(&closed.display().to_string()),
            "{error}"
        );
        assert!(stranger.check_reaches(folder.path()).is_ok());
    }
}
