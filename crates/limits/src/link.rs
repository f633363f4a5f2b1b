//! The link to Redis: here or away, and how it comes back.
//!
//! Away at once when the connection breaks, because a server that was started again has lost its
//! data; away after three calls in a row without a good answer, because then waiting for it costs
//! every request its budget. While away it is tried again and again, and before it counts as here
//! it is told what this node admitted meanwhile; if its epoch is another one, its data was lost and
//! it is told everything that still counts.

use std::{
    num::NonZeroU32,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::FutureExt as _;
use metrics::{Gauge, gauge};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};
use tracing::{info, warn};

use crate::{
    clock::Clock,
    metrics::{NODES, SHARED},
    redis::{Beat, Connection, Deciding, Failure, Server},
    table::{Place, SHARDS, Table},
    unique_name,
    window::Parcel,
};

/// How often a node says that it lives, and looks whether the data does.
const BEAT_EVERY: Duration = Duration::from_secs(1);
/// How long a beat may take: longer than a check, because nobody waits for it.
const BEAT_BUDGET: Duration = Duration::from_millis(250);
/// How often a Redis that is away is tried: the time in which nodes may disagree after it is back.
const PROBE_EVERY: Duration = Duration::from_millis(250);
/// So many calls in a row without a good answer, and Redis is away.
const FAILURES_MAX: u32 = 3;
/// How many late calls are remembered: as many as connections may have requests in flight.
const LATE_MAX: usize = 10_000;
/// An answer that is not here after so long is lost.
const LATE_MAX_MS: u64 = 5_000;
/// How many windows and admissions one pipeline restores at most: Redis serves nobody else while it
/// works on one, some milliseconds at these numbers.
const RESTORED_WINDOWS_MAX: usize = 100;
const RESTORED_ADMISSIONS_MAX: usize = 1_000;

pub(crate) struct Link {
    pub(crate) server: Server,
    live: RwLock<Option<Arc<Live>>>,
    /// As many as there were when we last heard.
    nodes: AtomicU32,
    went_away: Notify,
    /// Calls that were answered too late, or not yet.
    late: Mutex<Vec<Late>>,
    shared: Gauge,
}

/// A call that was not waited for. This node decided by itself; what Redis did is not known yet.
pub(crate) struct Late {
    pub(crate) answer: Deciding,
    pub(crate) place: Place,
    /// How many this node admitted.
    pub(crate) admitted: u32,
    pub(crate) admitted_at_ms: u64,
}

/// A connection that works as far as we know.
pub(crate) struct Live {
    pub(crate) connection: Connection,
    failures: AtomicU32,
}

impl Link {
    pub(crate) fn new(server: Server) -> Self {
        let shared = gauge!(SHARED);
        shared.set(0.0);
        Self {
            server,
            live: RwLock::new(None),
            nodes: AtomicU32::new(1),
            went_away: Notify::new(),
            late: Mutex::default(),
            shared,
        }
    }

    /// The connection, unless Redis is away.
    pub(crate) fn live(&self) -> Option<Arc<Live>> {
        self.live
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn is_here(&self) -> bool {
        self.live
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// How many nodes lived when we last heard; at least this one does.
    pub(crate) fn nodes(&self) -> NonZeroU32 {
        NonZeroU32::new(self.nodes.load(Ordering::Relaxed)).unwrap_or(NonZeroU32::MIN)
    }

    pub(crate) fn succeeded(live: &Live) {
        // Written only if it changes: all callers share it.
        if live.failures.load(Ordering::Relaxed) > 0 {
            live.failures.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn failed(&self, live: &Arc<Live>, failure: &Failure) {
        let failures = live.failures.fetch_add(1, Ordering::Relaxed) + 1;
        let is_over = failures >= FAILURES_MAX || matches!(failure, Failure::Broken(_));
        if !is_over {
            return;
        }
        let mut current = self.live.write().unwrap_or_else(PoisonError::into_inner);
        // A late failure of an old connection says nothing about a new one.
        if current.as_ref().is_some_and(|one| Arc::ptr_eq(one, live)) {
            *current = None;
            self.shared.set(0.0);
            self.went_away.notify_one();
            warn!(error = %failure, "Redis is away: each node limits by itself until it is back");
        }
    }

    /// Past the bound it is assumed that Redis has counted nothing: rather refuse too early.
    pub(crate) fn has_room_for_late(&self) -> bool {
        self.lock_late().len() < LATE_MAX
    }

    /// Finds out at one of the next beats whether Redis has counted what this node admitted.
    pub(crate) fn settle_later(&self, call: Late) {
        self.lock_late().push(call);
    }

    fn lock_late(&self) -> MutexGuard<'_, Vec<Late>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrived(&self, connection: Connection) {
        let live = Live {
            connection,
            failures: AtomicU32::new(0),
        };
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(live));
        self.shared.set(1.0);
    }

    /// Keeps the link as long as it is polled: connects, beats, probes, and tells Redis what it
    /// has to know.
    pub(crate) async fn keep(&self, table: &Table, clock: &Clock) {
        let mut keeper = Keeper {
            link: self,
            table,
            clock,
            known_epoch: None,
        };
        // Going away is announced where it is noticed; this is for a Redis that never was here.
        let mut is_announced = false;
        loop {
            if self.is_here() {
                is_announced = true;
                // Ends early when Redis goes away.
                let _ = timeout(BEAT_EVERY, self.went_away.notified()).await;
                if let Some(live) = self.live() {
                    keeper.keep_up(&live).await;
                }
            } else if let Err(failure) = keeper.come_back().await {
                if !is_announced {
                    is_announced = true;
                    warn!(error = %failure, "Redis is not reachable: each node limits by itself until it is");
                }
                sleep(PROBE_EVERY).await;
            }
        }
    }
}

/// What the task that keeps the link knows.
struct Keeper<'a> {
    link: &'a Link,
    table: &'a Table,
    clock: &'a Clock,
    /// Of the data that Redis held when we last heard.
    known_epoch: Option<String>,
}

impl Keeper<'_> {
    async fn come_back(&mut self) -> Result<(), Failure> {
        let mut connection = self.link.server.connect().await?;
        self.beat(&mut connection).await?;
        self.settle_late();
        let mut told = self.tell(&mut connection).await?;
        self.link.arrived(connection.clone());
        // What was admitted while the first part was told; if this fails, the next beat does it.
        told += self.tell(&mut connection).await.unwrap_or(0);
        info!(
            nodes = self.link.nodes(),
            admissions_told = told,
            "rate limits are shared over Redis"
        );
        Ok(())
    }

    async fn keep_up(&mut self, live: &Arc<Live>) {
        let mut connection = live.connection.clone();
        let beaten = self.beat(&mut connection).await;
        self.settle_late();
        let told = match beaten {
            Ok(()) if self.table.take_note() => self.tell(&mut connection).await.map(|_| ()),
            beaten => beaten,
        };
        match told {
            Ok(()) => Link::succeeded(live),
            Err(failure) => self.link.failed(live, &failure),
        }
    }

    async fn beat(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        // A new name each time: one that was used before would make lost data look like kept data.
        let name = unique_name();
        let beating = self.link.server.beat(connection, BEAT_BUDGET, &name);
        let Beat { epoch, nodes } = beating.await?;
        self.link.nodes.store(nodes.max(1), Ordering::Relaxed);
        gauge!(NODES).set(nodes);
        let is_another = self
            .known_epoch
            .as_ref()
            .is_some_and(|known| *known != epoch);
        // From here on it is known which data the notes in memory are about, also if telling fails.
        self.known_epoch = Some(epoch);
        if is_another {
            warn!("Redis has lost its data: it is told what this node admitted");
            self.link.lock_late().clear();
            self.table.owe_everything();
        }
        Ok(())
    }

    /// Redis is owed what it did not count of the calls that were late. Its answers come in the order
    /// of the calls, so after a beat those to all calls before it are here, unless the connection is
    /// another one; who waits too long for that is taken for lost.
    fn settle_late(&self) {
        let now_ms = self.clock.now_us() / 1_000;
        let calls = std::mem::take(&mut *self.link.lock_late());
        for mut call in calls {
            let owed = match (&mut call.answer).now_or_never() {
                Some(Ok(verdict)) => call.admitted.saturating_sub(verdict.granted),
                Some(Err(_)) => call.admitted,
                None if now_ms.saturating_sub(call.admitted_at_ms) > LATE_MAX_MS => call.admitted,
                None => {
                    self.link.settle_later(call);
                    continue;
                }
            };
            if owed > 0 {
                self.table
                    .at(&call.place, |window| window.owe(owed, call.admitted_at_ms));
                self.table.note_unsent();
            }
        }
    }

    /// Tells Redis of every admission that it has not heard of. Returns how many.
    async fn tell(&self, connection: &mut Connection) -> Result<usize, Failure> {
        let mut told = 0;
        for shard in 0..SHARDS {
            let parcels = self.table.take_unsent(shard, self.clock.now_us());
            let mut batches = batches(&parcels).into_iter();
            while let Some(batch) = batches.next() {
                let now_ms = self.clock.now_us() / 1_000;
                let telling = self.link.server.restore(connection, &batch, now_ms);
                if let Err(failure) = telling.await {
                    // Some of it may have arrived, and will count twice: rather that than not at all.
                    let rest = batches.flatten();
                    self.table.put_back(shard, batch.into_iter().chain(rest));
                    return Err(failure);
                }
                told += batch.iter().map(|one| one.admitted_at.len()).sum::<usize>();
            }
        }
        Ok(told)
    }
}

/// Cuts parcels into pipelines of a bounded size.
fn batches(parcels: &[Parcel]) -> Vec<Vec<Parcel>> {
    let mut batches: Vec<Vec<Parcel>> = Vec::new();
    let mut admissions = 0;
    for parcel in parcels.iter().flat_map(cut) {
        let has_room = admissions + parcel.admitted_at.len() <= RESTORED_ADMISSIONS_MAX;
        match batches.last_mut() {
            Some(batch) if has_room && batch.len() < RESTORED_WINDOWS_MAX => {
                admissions += parcel.admitted_at.len();
                batch.push(parcel);
            }
            _ => {
                admissions = parcel.admitted_at.len();
                batches.push(vec![parcel]);
            }
        }
    }
    batches
}

/// Cuts a parcel that is too large for one call, the oldest admissions first.
fn cut(parcel: &Parcel) -> Vec<Parcel> {
    let part = |admitted_at: &[u64]| Parcel {
        operation: parcel.operation,
        subject: parcel.subject.clone(),
        quota: parcel.quota,
        admitted_at: admitted_at.to_vec(),
    };
    parcel
        .admitted_at
        .chunks(RESTORED_ADMISSIONS_MAX)
        .map(part)
        .collect()
}
