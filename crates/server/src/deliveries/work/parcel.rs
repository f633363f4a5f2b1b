//! A message of the queue in a worker's hands, until the last of its deliveries is dealt with.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use domain::{EndpointId, delivery::Host};
use journal::{record::Job, work::Task};
use tokio::sync::OwnedSemaphorePermit;

/// One message. Its deliveries may end one by one; it is settled with the last.
pub(super) struct Parcel {
    pub(super) task: Task,
    pub(super) endpoint: EndpointId,
    pub(super) host: Host,
    /// Deliveries that are not dealt with.
    left: AtomicUsize,
    /// It is on the board.
    admitted: AtomicBool,
    /// One of them was sent.
    touched: AtomicBool,
    /// One of them could not be put on record: the message has to come back.
    failed: AtomicBool,
    room: Room,
}

/// Room for one message, given back with it.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Among those that come the same way.
    _message: Option<OwnedSemaphorePermit>,
    /// Among those of its organisation that go to the same host.
    at_host: OnceLock<OwnedSemaphorePermit>,
}

impl Room {
    /// For a message that is due: whether there is room at its host is seen when it is opened.
    pub(super) fn new(message: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            _message: message,
            at_host: OnceLock::new(),
        }
    }

    /// For a message of a lane, which waited for room at its host.
    pub(super) fn with_host(message: OwnedSemaphorePermit, at_host: OwnedSemaphorePermit) -> Self {
        Self {
            _message: Some(message),
            at_host: OnceLock::from(at_host),
        }
    }
}

/// One delivery in hand.
pub(super) struct Item {
    pub(super) job: Job,
    pub(super) parcel: Arc<Parcel>,
    /// The one that may be sent although its endpoint's breaker is open.
    pub(super) is_probe: bool,
}

/// How a message ends.
pub(super) enum End {
    /// Everything is dealt with.
    Settle,
    /// Something has to be done again.
    HandBack,
}

impl Parcel {
    pub(super) fn new(
        task: Task,
        (endpoint, host): (EndpointId, Host),
        jobs: usize,
        room: Room,
    ) -> Arc<Self> {
        Arc::new(Self {
            task,
            endpoint,
            host,
            left: AtomicUsize::new(jobs),
            admitted: AtomicBool::new(false),
            touched: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            room,
        })
    }

    pub(super) fn has_room_at_host(&self) -> bool {
        self.room.at_host.get().is_some()
    }

    pub(super) fn keep_room_at_host(&self, room: OwnedSemaphorePermit) {
        // It cannot have any: whoever has none asks once.
        let _ = self.room.at_host.set(room);
    }

    pub(super) fn admit(&self) {
        self.admitted.store(true, Ordering::Release);
    }

    pub(super) fn is_admitted(&self) -> bool {
        self.admitted.load(Ordering::Acquire)
    }

    pub(super) fn touch(&self) {
        self.touched.store(true, Ordering::Release);
    }

    pub(super) fn is_touched(&self) -> bool {
        self.touched.load(Ordering::Acquire)
    }

    /// So many deliveries are dealt with, or (`worked: false`) could not be; the last says how it ends.
    pub(super) fn done(&self, jobs: usize, worked: bool) -> Option<End> {
        if !worked {
            self.failed.store(true, Ordering::Release);
        }
        let was = self.left.fetch_sub(jobs, Ordering::AcqRel);
        (was == jobs).then(|| {
            if self.failed.load(Ordering::Acquire) {
                End::HandBack
            } else {
                End::Settle
            }
        })
    }
}
