//! A message of the queue in a worker's hands, until the last of its deliveries is dealt with.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use domain::EndpointId;
use journal::{record::Job, work::Task};
use tokio::sync::OwnedSemaphorePermit;

/// One message. Its deliveries may end one by one; it is settled with the last.
pub(super) struct Parcel {
    pub(super) task: Task,
    pub(super) endpoint: EndpointId,
    /// Deliveries that are not dealt with.
    left: AtomicUsize,
    /// It is on the board.
    admitted: AtomicBool,
    /// One of them was sent.
    touched: AtomicBool,
    /// One of them could not be put on record: the message has to come back.
    failed: AtomicBool,
    /// Room for messages, given back with this one.
    _room: Option<OwnedSemaphorePermit>,
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
        endpoint: EndpointId,
        jobs: usize,
        room: Option<OwnedSemaphorePermit>,
    ) -> Arc<Self> {
        Arc::new(Self {
            task,
            endpoint,
            left: AtomicUsize::new(jobs),
            admitted: AtomicBool::new(false),
            touched: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            _room: room,
        })
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
