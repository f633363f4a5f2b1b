//! A wall clock of one process's own, which jumps while it runs: libfaketime, loaded before the program.
//!
//! What measures durations is left alone, as it is when an operator sets a machine's clock. The program sees a jump within
//! a second: reading the file each time would make asking for the time seven times as slow.
//!
//! Tried with libfaketime 0.9.10: Watchbell and PostgreSQL run with it. A program that changes its user must get these
//! variables after that, because the library makes a semaphore as whoever starts it. `redis-server` hangs in its allocator
//! before it does anything. Programs in Go, so NATS, ask the kernel and not the C library, and do not notice. Python's
//! `time.sleep` and coreutils' `timeout` break.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Below a folder of libraries, or of those for an architecture. The one for threads, as every program of ours has them.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";
const FOLDERS: [&str; 3] = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];

/// Where the library leaves a file and a semaphore for each process that was killed.
const SHARED_MEMORY: &str = "/dev/shm";
const LEFT: [&str; 2] = ["faketime_shm_", "sem.faketime_sem_"];

/// A clock that is ahead or behind. Give [`Self::variables`] to the processes that shall have it.
#[derive(Debug)]
pub struct Clock {
    library: PathBuf,
    file: PathBuf,
}

impl Clock {
    /// Why this cannot be had here, or `None`.
    pub fn unavailable() -> Option<String> {
        library()
            .is_none()
            .then(|| format!("{LIBRARY} is not installed; scripts/install-fault-tools does that"))
    }

    /// A clock that is right so far. Its file is in `folder`, which its processes must be able to read.
    pub fn new(folder: &Path) -> anyhow::Result<Self> {
        let library = library().with_context(|| format!("{LIBRARY} is not installed"))?;
        let folder = folder.canonicalize().context("find the folder")?;
        let clock = Self {
            library,
            file: folder.join("clock"),
        };
        clock.shift(0)?;
        Ok(clock)
    }

    /// What a process has to find in its environment.
    pub fn variables(&self) -> Vec<(String, String)> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let variables = [
            ("LD_PRELOAD", path(&self.library)),
            ("FAKETIME_TIMESTAMP_FILE", path(&self.file)),
            ("FAKETIME_CACHE_DURATION", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("NO_FAKE_STAT", "1".to_owned()),
        ];
        variables
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    /// From now on it is this many seconds ahead of the machine's, or behind; 0: it is right again.
    pub fn shift(&self, by_s: i64) -> anyhow::Result<()> {
        // Renamed into place: who reads it while we write would take half of the number.
        let new = self.file.with_extension("new");
        fs::write(&new, format!("{by_s:+}\n"))
            .and_then(|()| fs::rename(&new, &self.file))
            .with_context(|| format!("write {}", self.file.display()))
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        for entry in fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let pid = LEFT.iter().find_map(|left| name.strip_prefix(left));
            if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn library() -> Option<PathBuf> {
    FOLDERS.iter().map(Path::new).find_map(|folder| {
        let below = fs::read_dir(folder).ok()?.flatten().map(|at| at.path());
        let mut places = below.chain([folder.to_owned()]).map(|at| at.join(LIBRARY));
        places.find(|place| place.exists())
    })
}
