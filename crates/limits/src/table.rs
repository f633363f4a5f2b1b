//! Every window of this node, in shards, so that callers seldom wait for each other.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use domain::limit::{Operation, Quota};

use crate::{restore_batch::RestoreBatch, window::Window};

pub(crate) const SHARDS: usize = 64;

/// How many windows one shard holds for one operation: about a million for each operation, some
/// 200 MB. A live window is never dropped for a new one, or a caller with many addresses could make
/// us forget what it did. Past the bound, new callers of a shard and operation have none of their own:
/// Redis is asked for each of their requests, and while it is away they share one. What that admits is
/// not told to Redis, which knows callers and not those who share.
pub(crate) const WINDOWS_MAX: usize = 16_384;

/// A map gives room back when it uses less than this part of it.
const ROOM_USED_MIN: usize = 4;

pub(crate) struct Table {
    shards: Vec<Mutex<Shard>>,
    /// Which shard a caller is in follows from it; drawn at random, nobody outside can tell.
    shard_key: u64,
    windows_max: usize,
    windows: AtomicUsize,
    /// Which shards hold admissions that Redis has not heard of.
    has_unsent: [AtomicBool; SHARDS],
}

/// By operation, so that a caller's name is looked up as it comes.
#[derive(Default)]
struct Shard {
    own: [HashMap<Box<str>, Box<Window>>; Operation::ALL.len()],
    /// For callers past the bound.
    common: [Option<Box<Window>>; Operation::ALL.len()],
}

/// The window that a request came to.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) shard: usize,
    pub(crate) operation: Operation,
    subject: &'a str,
    /// Whether it is for this caller alone.
    pub(crate) is_own: bool,
}

/// How to come to that window again.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) shard: usize,
    pub(crate) operation: Operation,
    pub(crate) subject: Box<str>,
}

impl From<Found<'_>> for Place {
    fn from(found: Found<'_>) -> Self {
        Self {
            shard: found.shard,
            operation: found.operation,
            subject: found.subject.into(),
        }
    }
}

impl Place {
    pub(crate) fn found(&self) -> Found<'_> {
        Found {
            shard: self.shard,
            operation: self.operation,
            subject: &self.subject,
            is_own: true,
        }
    }
}

impl Table {
    pub(crate) fn new(windows_max: usize, shard_key: u64) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            shard_key,
            windows_max,
            windows: AtomicUsize::new(0),
            has_unsent: std::array::from_fn(|_| AtomicBool::new(false)),
        }
    }

    /// Runs `work` on the window of a caller, which is made if there is none; past the bound, on the one
    /// that is common to such callers.
    pub(crate) fn enter<T>(
        &self,
        operation: Operation,
        subject: &str,
        quota: Quota,
        work: impl FnOnce(Found<'_>, &mut Window) -> T,
    ) -> T {
        let shard = self.shard_of(operation, subject);
        let found = |is_own| Found {
            shard,
            operation,
            subject,
            is_own,
        };
        let Shard { own, common } = &mut *self.lock(shard);
        let own = &mut own[operation as usize];
        if let Some(window) = own.get_mut(subject) {
            return work(found(true), window);
        }
        let new = || {
            self.windows.fetch_add(1, Ordering::Relaxed);
            Box::new(Window::new(quota))
        };
        if own.len() >= self.windows_max {
            let window = common[operation as usize].get_or_insert_with(new);
            return work(found(false), window);
        }
        let window = own.entry(subject.into()).or_insert_with(new);
        work(found(true), window)
    }

    /// Runs `work` on a window that is in use, and so was not swept.
    pub(crate) fn at<T>(&self, place: &Place, work: impl FnOnce(&mut Window) -> T) -> Option<T> {
        let mut shard = self.lock(place.shard);
        shard.own[place.operation as usize]
            .get_mut(&place.subject)
            .map(|window| work(window))
    }

    /// How many windows there are.
    pub(crate) fn windows(&self) -> usize {
        self.windows.load(Ordering::Relaxed)
    }

    /// Drops the idle windows of one shard, and the room they took.
    pub(crate) fn sweep(&self, shard: usize, now_us: u64) {
        for operation in Operation::ALL {
            // The lock is held for one map at a time, a millisecond or two if it is full.
            let Shard { own, common } = &mut *self.lock(shard);
            let (map, common) = (
                &mut own[operation as usize],
                &mut common[operation as usize],
            );
            let before = map.len();
            map.retain(|_, window| !window.tidy(now_us));
            let gone = usize::from(common.take_if(|window| window.tidy(now_us)).is_some());
            self.windows
                .fetch_sub(before - map.len() + gone, Ordering::Relaxed);
            if map.capacity() > ROOM_USED_MIN * map.len() {
                map.shrink_to_fit();
            }
        }
    }

    /// Notes that some window of a shard holds admissions that Redis has not heard of.
    pub(crate) fn note_unsent(&self, shard: usize) {
        self.has_unsent[shard].store(true, Ordering::Release);
    }

    /// Whether that was noted since the last time.
    pub(crate) fn take_note(&self, shard: usize) -> bool {
        self.has_unsent[shard].swap(false, Ordering::AcqRel)
    }

    /// Redis has lost its data: everything that was admitted in this shard has to be told again.
    pub(crate) fn owe_everything(&self, shard: usize) {
        let shared = Operation::ALL.into_iter().filter(|one| one.is_shared());
        for operation in shared {
            for window in self.lock(shard).own[operation as usize].values_mut() {
                window.owe_everything();
            }
        }
        self.note_unsent(shard);
    }

    /// What Redis has to be told of one shard.
    pub(crate) fn take_unsent(&self, shard: usize, now_us: u64) -> Vec<RestoreBatch> {
        let mut parcels = Vec::new();
        for operation in Operation::ALL {
            for (subject, window) in &mut self.lock(shard).own[operation as usize] {
                if let Some(admitted_at) = window.take_unsent(now_us) {
                    parcels.push(RestoreBatch {
                        operation,
                        subject: subject.clone(),
                        quota: window.quota(),
                        admitted_at,
                    });
                }
            }
        }
        parcels
    }

    /// Telling failed.
    pub(crate) fn put_back(&self, shard: usize, parcels: impl IntoIterator<Item = RestoreBatch>) {
        let maps = &mut self.lock(shard).own;
        for parcel in parcels {
            // A window that was swept meanwhile held nothing that still counts.
            if let Some(window) = maps[parcel.operation as usize].get_mut(&parcel.subject) {
                window.put_back(parcel.admitted_at);
            }
        }
        self.note_unsent(shard);
    }

    fn shard_of(&self, operation: Operation, subject: &str) -> usize {
        let mut hasher = DefaultHasher::new();
        (self.shard_key, operation, subject).hash(&mut hasher);
        usize::try_from(hasher.finish() % SHARDS as u64).expect("it is less than 64")
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        // Nothing in here panics half way through a change.
        self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_US: u64 = 1_000_000;

    fn quota() -> Quota {
        "2/1s".parse().expect("a quota")
    }

    fn admit(table: &Table, subject: &str, now_us: u64) -> bool {
        table.enter(Operation::Login, subject, quota(), |_, window| {
            window.decide(quota(), now_us, 1).granted == 1
        })
    }

    fn sweep_all(table: &Table, now_us: u64) {
        for shard in 0..SHARDS {
            table.sweep(shard, now_us);
        }
    }

    #[test]
    fn idle_windows_are_swept_and_live_ones_are_not() {
        let table = Table::new(WINDOWS_MAX, 7);
        for number in 0..1_000 {
            admit(&table, &format!("early {number}"), 0);
        }
        admit(&table, "late", SECOND_US / 2);
        sweep_all(&table, SECOND_US);
        assert_eq!(table.windows(), 1);
        let rooms: usize = (0..SHARDS)
            .map(|shard| table.lock(shard).own[Operation::Login as usize].capacity())
            .sum();
        assert!(rooms < 8, "{rooms} places kept");
        assert!(admit(&table, "late", SECOND_US));
        assert!(!admit(&table, "late", SECOND_US));
    }

    #[test]
    fn past_the_bound_new_callers_share_a_window_and_nobody_is_forgotten() {
        let table = Table::new(1, 7);
        let callers: Vec<String> = (0..2_000)
            .map(|number| format!("caller {number}"))
            .collect();
        let admitted = callers.iter().filter(|one| admit(&table, one, 0)).count();
        // In each shard one caller has a window of its own, and all others share one of two.
        assert_eq!(admitted, SHARDS * (1 + 2));
        assert_eq!(table.windows(), SHARDS * 2);
        let again = callers.iter().filter(|one| admit(&table, one, 0)).count();
        assert_eq!(again, SHARDS, "each with a window of its own has one left");
        let other = table.enter(Operation::Ingest, "caller 1", quota(), |_, window| {
            window.decide(quota(), 0, 1).granted
        });
        assert_eq!(other, 1, "another operation has room");
        sweep_all(&table, SECOND_US);
        assert!(
            callers
                .iter()
                .take(2)
                .all(|one| admit(&table, one, SECOND_US))
        );
    }

    #[test]
    fn what_redis_is_owed_can_be_taken_and_put_back() {
        let table = Table::new(WINDOWS_MAX, 7);
        let (shard, operation) = (table.shard_of(Operation::Login, "a"), Operation::Login);
        table.enter(operation, "a", quota(), |_, window| {
            window.add_unsynced(2, 5);
        });
        table.note_unsent(shard);
        let noted: Vec<usize> = (0..SHARDS).filter(|one| table.take_note(*one)).collect();
        assert_eq!(noted, [shard]);
        assert!(!table.take_note(shard));
        let parcels = table.take_unsent(shard, 6_000);
        let expected = RestoreBatch {
            operation,
            subject: "a".into(),
            quota: quota(),
            admitted_at: vec![5, 5],
        };
        assert_eq!(parcels, [expected]);
        assert!(table.take_unsent(shard, 6_000).is_empty());
        table.put_back(shard, parcels);
        assert!(table.take_note(shard));
        assert_eq!(table.take_unsent(shard, 6_000).len(), 1);
    }

    #[test]
    fn when_redis_lost_its_data_all_admissions_are_owed() {
        let table = Table::new(WINDOWS_MAX, 7);
        admit(&table, "a", 0);
        admit(&table, "a", 600_000);
        let shard = table.shard_of(Operation::Login, "a");
        table.owe_everything(shard);
        let unsynced = table.take_unsent(shard, SECOND_US);
        assert_eq!(
            unsynced[0].admitted_at,
            [600],
            "the first has left the window"
        );
    }
}
