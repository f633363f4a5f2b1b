//! A message of the queue in a worker's hands, what of it goes to each endpoint, and each of its deliveries.
//!
//! A message asks for deliveries of one organization, whatever their endpoints. Those for one endpoint are a [`Share`]: together
//! they are admitted to the scheduler or parked, and they count as one there until the last of them is answered.
//!
//! An [`Item`] is the guard of one delivery: it owns the slot, the delivery's place among those in hand, its part of the
//! share and its part of the message. Whoever drops it gives all of them back, however their task ends; with the last
//! delivery the message is settled. What was not dealt with goes back to the queue.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use domain::{
    DeliveryId, EndpointId, OrgId, Timestamp,
    delivery::{Answer, Host, fair_queue::Kind},
};
use journal::{queue::Lane, record::Job, work_queue::Task};
use tokio::sync::OwnedSemaphorePermit;

use super::{Worker, message_registry::MessageKey};

/// One message. Its deliveries may end one by one; it is settled with the last.
pub(super) struct InFlightMessage {
    pub(super) task: Task,
    pub(super) key: MessageKey,
    pub(super) org: OrgId,
    /// Its deliveries, but for those that nobody wants any more.
    pub(super) deliveries: Vec<DeliveryId>,
    tally: Mutex<Tally<Job>>,
    /// Room among messages that come the same way.
    _room: Option<OwnedSemaphorePermit>,
}

/// What of a message goes to one endpoint.
pub(super) struct Share {
    pub(super) message: Arc<InFlightMessage>,
    pub(super) endpoint: EndpointId,
    pub(super) host: Host,
    /// Deliveries that have no answer yet.
    open: AtomicUsize,
    /// The scheduler has it.
    admitted: AtomicBool,
    room: RoomAtHost,
}

/// Room for one message among those of its organization that go to the same host, given back with the last of its
/// deliveries that goes there. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct RoomAtHost(Arc<OnceLock<OwnedSemaphorePermit>>);

/// Room for a message that is taken.
#[derive(Debug, Default)]
pub(super) struct Room {
    message: Option<OwnedSemaphorePermit>,
    at_host: Option<(Host, OwnedSemaphorePermit)>,
}

impl Room {
    /// For a message that is due: whether there is room at its hosts is seen when it is opened.
    pub(super) fn new(message: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            message,
            at_host: None,
        }
    }

    /// For a message of a lane, which waited for room at its host.
    pub(super) fn with_host(
        message: OwnedSemaphorePermit,
        host: Host,
        at_host: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            message: Some(message),
            at_host: Some((host, at_host)),
        }
    }

    /// Room for the message itself, and what it has at a host.
    pub(super) fn part(self) -> (Option<OwnedSemaphorePermit>, Option<(Host, RoomAtHost)>) {
        let at_host = self.at_host;
        let at_host = at_host.map(|(host, room)| (host, RoomAtHost(Arc::new(room.into()))));
        (self.message, at_host)
    }
}

/// How a message ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End<J = Job> {
    /// Everything is dealt with.
    Settle,
    /// These are not.
    QueueAgain(Vec<J>),
    /// Nothing of it was begun.
    HandBack,
}

impl InFlightMessage {
    pub(super) fn new(
        (task, key): (Task, MessageKey),
        jobs: &[Job],
        room: Option<OwnedSemaphorePermit>,
    ) -> Arc<Self> {
        Arc::new(Self {
            task,
            key,
            org: jobs[0].matched.org,
            deliveries: jobs.iter().map(|job| job.matched.delivery).collect(),
            tally: Mutex::new(Tally::of(jobs.len())),
            _room: room,
        })
    }

    /// Has the message go back as it came, unless one of its deliveries was begun with.
    pub(super) fn give_back_if_whole(&self) {
        self.tally().give_back_if_whole();
    }

    fn tally(&self) -> MutexGuard<'_, Tally<Job>> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    pub(super) fn new(
        message: &Arc<InFlightMessage>,
        (endpoint, host): (EndpointId, Host),
        deliveries: usize,
        room: RoomAtHost,
    ) -> Arc<Self> {
        Arc::new(Self {
            message: Arc::clone(message),
            endpoint,
            host,
            open: AtomicUsize::new(deliveries),
            admitted: AtomicBool::new(false),
            room,
        })
    }

    pub(super) fn lane(&self) -> Lane {
        Lane {
            org: self.message.org,
            endpoint: self.endpoint,
        }
    }

    pub(super) fn has_room_at_host(&self) -> bool {
        self.room.0.get().is_some()
    }

    pub(super) fn keep_room_at_host(&self, room: OwnedSemaphorePermit) {
        // It cannot have any: whoever has none asks once.
        let _ = self.room.0.set(room);
    }

    pub(super) fn admit(&self) {
        self.admitted.store(true, Ordering::Release);
    }

    /// One of its deliveries is answered or parked; whether the scheduler had it and has nothing of it any more.
    pub(super) fn leave(&self) -> bool {
        let was = self.open.fetch_sub(1, Ordering::AcqRel);
        was == 1 && self.admitted.load(Ordering::Acquire)
    }
}

/// How many deliveries of a message are left, and what becomes of it after the last.
pub(super) struct Tally<J> {
    left: usize,
    /// One of them was begun with: sent, moved or ended.
    pub(super) is_touched: bool,
    /// It goes back to the queue as it came.
    goes_back: bool,
    /// Those that were not dealt with, which are queued again.
    undone: Vec<J>,
}

impl<J> Tally<J> {
    pub(super) fn of(deliveries: usize) -> Self {
        Self {
            left: deliveries,
            is_touched: false,
            goes_back: false,
            undone: Vec::new(),
        }
    }

    pub(super) fn give_back_if_whole(&mut self) {
        self.goes_back = !self.is_touched;
    }

    /// One delivery is dealt with, or is not and has to be queued again; the last says how the message ends.
    pub(super) fn end_one(&mut self, undone: Option<J>) -> Option<End<J>> {
        self.undone.extend(undone);
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        let undone = mem::take(&mut self.undone);
        Some(if self.goes_back {
            End::HandBack
        } else if undone.is_empty() {
            End::Settle
        } else {
            End::QueueAgain(undone)
        })
    }
}

/// One delivery in hand.
pub(super) struct Item {
    pub(super) job: Job,
    pub(super) share: Arc<Share>,
    /// The one that may be sent although its endpoint's breaker is open.
    pub(super) is_probe: bool,
    slot: Slot,
    is_done: bool,
    worker: Worker,
}

/// What a delivery takes up in a worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// Nothing: it waits.
    None,
    /// It is being sent.
    Sending(Kind),
    /// It was sent, which is not on record yet.
    Recording,
}

impl Item {
    pub(super) fn new(job: Job, share: &Arc<Share>, worker: &Worker) -> Self {
        Self {
            job,
            share: Arc::clone(share),
            is_probe: false,
            slot: Slot::None,
            is_done: false,
            worker: worker.clone(),
        }
    }

    pub(super) fn message(&self) -> &Arc<InFlightMessage> {
        &self.share.message
    }

    /// The scheduler has a slot for it.
    pub(super) fn take_slot(&mut self, kind: Kind) {
        self.slot = Slot::Sending(kind);
    }

    /// Something is done with it: its message does not go back as it came any more.
    pub(super) fn touch(&self) {
        self.message().tally().is_touched = true;
    }

    /// There is an answer, to what was begun and is over at these times: the endpoint can have the next, and what happened is
    /// to be recorded. Whether the answer opens the endpoint's breaker.
    pub(super) fn answered(&mut self, answer: &Answer, times: (Timestamp, Timestamp)) -> bool {
        let Slot::Sending(kind) = self.slot else {
            return false;
        };
        let scheduler = &self.worker.0.scheduler;
        let trips = scheduler.answered(&self.share, kind, answer, times);
        self.slot = Slot::Recording;
        trips
    }

    /// It is not sent now.
    pub(super) fn give_slot_back(&mut self) {
        if let Slot::Sending(kind) = self.slot {
            self.slot = Slot::None;
            self.worker.0.scheduler.free(&self.share, kind);
        }
    }

    /// It is dealt with: on record, in its lane, or nobody wants it any more.
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.give_slot_back();
        let scheduler = &self.worker.0.scheduler;
        if self.slot == Slot::Recording {
            scheduler.recorded();
        } else {
            scheduler.left(&self.share);
        }
        if self.is_done {
            let delivery = self.job.matched.delivery;
            self.worker.0.registry.let_go(self.message().key, delivery);
        }
        let undone = (!self.is_done).then(|| self.job.clone());
        let end = self.message().tally().end_one(undone);
        if let Some(end) = end {
            self.worker.close(Arc::clone(self.message()), end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_the_last_delivery_that_is_dealt_with_the_message_is_settled() {
        let mut tally: Tally<u32> = Tally::of(2);
        assert_eq!(tally.end_one(None), None);
        assert_eq!(tally.end_one(None), Some(End::Settle));
    }

    #[test]
    fn what_was_not_dealt_with_is_queued_again_and_nothing_else() {
        let mut tally = Tally::of(3);
        tally.is_touched = true;
        assert_eq!(tally.end_one(Some(1)), None);
        assert_eq!(tally.end_one(None), None);
        assert_eq!(tally.end_one(Some(3)), Some(End::QueueAgain(vec![1, 3])));
    }

    #[test]
    fn a_message_of_which_nothing_was_begun_goes_back_as_it_came() {
        let mut tally = Tally::of(2);
        tally.give_back_if_whole();
        assert_eq!(tally.end_one(Some(1)), None);
        assert_eq!(tally.end_one(Some(2)), Some(End::HandBack));
    }

    #[test]
    fn a_message_of_which_one_was_begun_does_not_go_back_as_it_came() {
        let mut tally = Tally::of(2);
        tally.is_touched = true;
        tally.give_back_if_whole();
        assert_eq!(tally.end_one(None), None);
        assert_eq!(tally.end_one(Some(2)), Some(End::QueueAgain(vec![2])));
    }
}
