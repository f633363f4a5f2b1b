//! A disk that can lose power, fill up and slow down: a FUSE file system that holds its files in memory.
//!
//! | file | what it does |
//! |---|---|
//! | `content` | what is in one file, now and after a cut |
//! | `tree` | names, folders and attributes, now and after a cut |
//! | `platter` | the disk as a whole: whether it has power, and how slow it is |
//! | `filesystem`, `answers` | what the kernel asks, and what it is answered |
//!
//! After a cut there is what was synced, as on ext4: what is in a file if that file was synced, names if anything was since.
//! All else is gone, or in a torn cut any part of it: a kernel writes pages out when and in which order it likes. The kernel of a real machine also syncs by itself after half a
//! minute; this one does not: [`Disk::sync`] does it where a test wants it, for instance when `initdb` is done.
//!
//! A cut ends the mount and mounts anew. So nothing that the kernel remembers survives, and what a program still has open
//! answers with an error, as if its machine were off.

mod answers;
mod content;
mod filesystem;
mod platter;
mod tree;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use fuser::{BackgroundSession, Config, MountOption, SessionACL};
use rustix::mount::{UnmountFlags, unmount};

use crate::Dice;
use filesystem::Served;
use platter::Platter;

/// One that sleeps, because the disk is slow, must not keep the others waiting.
const THREADS: usize = 4;

/// A disk, mounted. Dropping it unmounts it, and so does the end of the process.
#[derive(Debug)]
pub struct Disk {
    at: PathBuf,
    platter: Arc<Platter>,
    mounted: Mutex<Option<BackgroundSession>>,
    sweeper: Child,
    lost_bytes: AtomicU64,
    cuts: AtomicU64,
}

impl Disk {
    /// Why this cannot be had here, or `None`.
    pub fn unavailable() -> Option<String> {
        let tried = || {
            let folder = tempfile::tempdir().context("create a folder")?;
            Self::mount(folder.path()).map(drop)
        };
        tried().err().map(|error| format!("{error:#}"))
    }

    /// An empty disk, mounted at this folder, which is made if it is not there. Needs root.
    pub fn mount(at: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(at).with_context(|| format!("create {}", at.display()))?;
        let at = at.canonicalize().context("find out where that is")?;
        let platter = Arc::new(Platter::new());
        let mounted = mount(&at, &platter)?;
        let sweeper = match sweep_when_we_are_gone(&at) {
            Ok(sweeper) => sweeper,
            Err(error) => {
                end(&at, mounted);
                return Err(error);
            }
        };
        Ok(Self {
            at,
            platter,
            mounted: Mutex::new(Some(mounted)),
            sweeper,
            lost_bytes: AtomicU64::new(0),
            cuts: AtomicU64::new(0),
        })
    }

    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Forgets what was not synced, as a power cut does. Kill whoever uses the disk first: what is still open gives errors
    /// from now on, but who opens a file anew is on the disk as it is afterward.
    pub fn cut_power(&self) {
        self.cut(None);
    }

    /// The same, but any page that was not synced may have been written out just before, whatever happened to those before
    /// it. So records are torn, and files are longer than what is in them.
    pub fn cut_power_torn(&self, dice: &mut Dice) {
        self.cut(Some(dice));
    }

    fn cut(&self, dice: Option<&mut Dice>) {
        let mut mounted = self.mounted.lock().unwrap_or_else(PoisonError::into_inner);
        self.platter.switch_off();
        if let Some(mounted) = mounted.take() {
            end(&self.at, mounted);
        }
        let lost = self.platter.tree().cut(dice);
        self.lost_bytes.store(lost, Ordering::SeqCst);
        self.cuts.fetch_add(1, Ordering::SeqCst);
        self.platter.switch_on();
        *mounted = Some(mount(&self.at, &self.platter).expect("it was mounted here before"));
    }

    /// Everything that is there now survives a cut.
    pub fn sync(&self) {
        self.platter.tree().sync_all();
    }

    /// Full beyond this many bytes: writes that need more are refused. `None`: no bound but memory.
    pub fn limit(&self, bytes: Option<u64>) {
        self.platter.tree().limit(bytes);
    }

    /// Every write and every sync takes this much longer.
    pub fn slow_down(&self, by: Duration) {
        self.platter.slow_down(by);
    }

    /// How many bytes its files take.
    pub fn bytes(&self) -> u64 {
        self.platter.tree().held_bytes()
    }

    /// How many bytes that programs had written the last power cut took back.
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes.load(Ordering::SeqCst)
    }

    pub fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::SeqCst)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let mounted = self
            .mounted
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        self.platter.switch_off();
        if let Some(mounted) = mounted.take() {
            end(&self.at, mounted);
        }
        let _ = self.sweeper.kill();
        let _ = self.sweeper.wait();
    }
}

fn mount(at: &Path, platter: &Arc<Platter>) -> anyhow::Result<BackgroundSession> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("watchbell-test".to_owned()),
        // The kernel checks permissions by what we say about files, also for PostgreSQL's own user.
        MountOption::DefaultPermissions,
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::NoAtime,
    ];
    config.acl = SessionACL::All;
    config.n_threads = Some(THREADS);
    fuser::spawn_mount(Served(Arc::clone(platter)), at, &config)
        .with_context(|| format!("mount at {}", at.display()))
}

/// Unmounts, whoever has something open there: by force, which fails what is under way, and then out of sight.
fn end(at: &Path, mounted: BackgroundSession) {
    let _ = unmount(at, UnmountFlags::FORCE).or_else(|_| unmount(at, UnmountFlags::DETACH));
    // It says that it was ended, which we know.
    let _ = mounted.join();
}

/// A killed process cannot unmount, and what it leaves is a folder that nobody can remove.
fn sweep_when_we_are_gone(at: &Path) -> anyhow::Result<Child> {
    Command::new("sh")
        .args(["-c", r#"cat; umount --lazy "$0""#])
        .arg(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .context("start a shell that unmounts when this process is gone")
}
