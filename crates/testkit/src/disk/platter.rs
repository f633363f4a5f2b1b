//! The disk as both sides have it: the kernel, and who holds it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use fuser::FileType;
use rustix::io::Errno;

use super::tree::Tree;

#[derive(Debug)]
pub(super) struct Platter {
    tree: Mutex<Tree>,
    /// Nothing is answered while the power is off.
    off: AtomicBool,
    slower_by_us: AtomicU64,
    /// What was in the folders that are open, when they were read from the beginning.
    listings: Mutex<HashMap<u64, Listing>>,
    next_listing: AtomicU64,
}

pub(super) type Listing = Vec<(u64, FileType, OsString)>;

impl Platter {
    pub(super) fn new() -> Self {
        Self {
            tree: Mutex::new(Tree::new(now())),
            off: AtomicBool::new(false),
            slower_by_us: AtomicU64::new(0),
            listings: Mutex::default(),
            next_listing: AtomicU64::new(1),
        }
    }

    pub(super) fn tree(&self) -> MutexGuard<'_, Tree> {
        lock(&self.tree)
    }

    pub(super) fn switch_off(&self) {
        // With the lock, so that whoever is at it is done.
        let _tree = self.tree();
        self.off.store(true, Ordering::SeqCst);
    }

    pub(super) fn switch_on(&self) {
        self.listings().clear();
        self.off.store(false, Ordering::SeqCst);
    }

    /// A handle for one time that a folder is read.
    pub(super) fn open_listing(&self) -> u64 {
        self.next_listing.fetch_add(1, Ordering::SeqCst)
    }

    pub(super) fn listings(&self) -> MutexGuard<'_, HashMap<u64, Listing>> {
        lock(&self.listings)
    }

    pub(super) fn slow_down(&self, by: Duration) {
        let micros = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        self.slower_by_us.store(micros, Ordering::SeqCst);
    }

    pub(super) fn powered(&self) -> Result<MutexGuard<'_, Tree>, Errno> {
        let tree = self.tree();
        if self.off.load(Ordering::SeqCst) {
            return Err(Errno::IO);
        }
        Ok(tree)
    }

    /// Does it, and returns as late as the disk is slow.
    pub(super) fn slowly<T>(
        &self,
        act: impl FnOnce(&mut Tree) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let done = self.powered().and_then(|mut tree| act(&mut tree));
        let slower_by = Duration::from_micros(self.slower_by_us.load(Ordering::SeqCst));
        if !slower_by.is_zero() {
            thread::sleep(slower_by);
        }
        done
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "files have the time of the machine that they are on"
)]
pub(super) fn now() -> SystemTime {
    SystemTime::now()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
