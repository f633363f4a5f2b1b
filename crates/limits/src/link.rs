//! The link to Redis: here or away. How it comes back is in `keeper`.
//!
//! Away at once when the connection breaks, because a server that was started again may have lost
//! data; away after three calls in a row without a good answer, because then waiting for it costs
//! every request its budget.

use std::{
    num::NonZeroU32,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use metrics::gauge;
use tokio::sync::Notify;
use tracing::warn;

use crate::{
    metrics::{NODES, SHARED},
    redis::{Connection, Deciding, Failure, Server},
    table::Place,
};

/// So many calls in a row without a good answer, and Redis is away.
const FAILURES_MAX: u32 = 3;
/// How many late calls are remembered: as many as connections may have requests in flight.
const LATE_MAX: usize = 10_000;

pub(crate) struct Link {
    pub(crate) server: Server,
    live: RwLock<Option<Arc<Live>>>,
    /// Of how many epochs of Redis's data this node has heard.
    epoch: AtomicU64,
    /// As many as there were when we last heard.
    nodes: AtomicU32,
    pub(crate) went_away: Notify,
    /// Calls that were answered too late, or not yet.
    late: Mutex<Vec<LateReply>>,
}

/// A call that was not waited for. This node decided by itself; what Redis did is not known yet.
pub(crate) struct LateReply {
    pub(crate) answer: Deciding,
    pub(crate) place: Place,
    /// How many this node admitted.
    pub(crate) admitted: u32,
    pub(crate) admitted_at_ms: u64,
    /// To which data the call went.
    pub(crate) live: Arc<Live>,
}

/// A connection that works as far as we know.
pub(crate) struct Live {
    pub(crate) connection: Connection,
    /// Which epoch of the data this is, counted by this node.
    epoch: u64,
    failures: AtomicU32,
}

impl Link {
    pub(crate) fn new(server: Server) -> Self {
        Self {
            server,
            live: RwLock::new(None),
            epoch: AtomicU64::new(0),
            nodes: AtomicU32::new(1),
            went_away: Notify::new(),
            late: Mutex::default(),
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

    pub(crate) fn set_nodes(&self, nodes: NonZeroU32) {
        self.nodes.store(nodes.get(), Ordering::Relaxed);
        gauge!(NODES).set(nodes.get());
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
            say_shared(false);
            self.went_away.notify_one();
            warn!(error = %failure, "Redis is down: each node enforces limits on its own until it is back");
        }
    }

    /// The data that this node spoke to is lost: nobody asks it any more, and what it answers from now
    /// on does not count. To be called before the windows are looked through for what the new data has
    /// to be told: whatever a window learns afterwards sees the new epoch, and is owed.
    pub(crate) fn begin_epoch(&self) {
        let mut current = self.live.write().unwrap_or_else(PoisonError::into_inner);
        *current = None;
        say_shared(false);
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the data behind this connection is that of now.
    pub(crate) fn is_current(&self, live: &Live) -> bool {
        live.epoch == self.epoch.load(Ordering::Acquire)
    }

    /// Past the bound it is assumed that Redis has counted nothing: rather refuse too early.
    pub(crate) fn has_room_for_late(&self) -> bool {
        self.lock_late().len() < LATE_MAX
    }

    /// Finds out at one of the next beats whether Redis has counted what this node admitted.
    pub(crate) fn settle_later(&self, call: LateReply) {
        self.lock_late().push(call);
    }

    pub(crate) fn lock_late(&self) -> MutexGuard<'_, Vec<LateReply>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn arrived(&self, connection: Connection) {
        let live = Live {
            connection,
            epoch: self.epoch.load(Ordering::Acquire),
            failures: AtomicU32::new(0),
        };
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(live));
        say_shared(true);
    }
}

/// Said by who keeps a link and by nobody else: a process that has the address of Redis and limits nobody
/// must not look as if Redis were away.
pub(crate) fn say_shared(is_shared: bool) {
    gauge!(SHARED).set(f64::from(u8::from(is_shared)));
}
