//! Takes messages off the queue and finds a place for their deliveries.

use std::{sync::Arc, time::Duration};

use domain::{EndpointId, delivery::Reason, partition::Partition};
use journal::{cancels::Void, record, work::Task};
use runtime::retry::Retries;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Worker,
    elsewhere::Ended,
    hands::{Known, Message},
    parcel::{Item, Parcel, Room},
    verdict,
};
use crate::{send::target, snapshots::Target};

/// Messages of what is due in a partition that a worker has at a time. An endpoint may have sixteen of them, and
/// an organisation 128 for a host, so 64 endpoints at eight hosts that answer slowly and never fail fit beside each
/// other before anybody waits.
const MESSAGES_MAX: usize = 1_024;
/// Messages asked for at a time, and for how long.
const PULL_MAX: usize = 64;
const PULL_PATIENCE: Duration = Duration::from_secs(5);

impl Worker {
    /// Takes what is due in a partition, until stopped.
    pub(super) async fn take_due(self, partition: Partition) {
        let room = Arc::new(Semaphore::new(MESSAGES_MAX));
        let what = format!("take deliveries of partition {}", partition.index());
        let mut retries = Retries::new(what, &self.0.stopping);
        while retries.again(self.pull(partition, &room).await).await {}
    }

    async fn pull(
        &self,
        partition: Partition,
        room: &Arc<Semaphore>,
    ) -> Result<(), journal::Error> {
        let source = self.journal.due(partition).await?;
        loop {
            let mut places = tokio::select! {
                places = reserve(room, PULL_MAX) => places,
                () = self.0.stopping.cancelled() => return Ok(()),
            };
            let mut taking = source.take(places.len(), PULL_PATIENCE).await?;
            loop {
                let taken = tokio::select! {
                    taken = taking.next() => taken?,
                    () = self.0.stopping.cancelled() => {
                        taking.hand_back_rest().await;
                        return Ok(());
                    }
                };
                let Some(task) = taken else { break };
                self.place(task, Room::new(places.pop()), false).await;
            }
        }
    }

    /// Finds a place for a message: on the board, or elsewhere. `from_lane`: its turn has come, so it is
    /// not sent back to the end of the line. Says for which endpoint something is left of it.
    pub(super) async fn place(
        &self,
        task: Task,
        room: Room,
        from_lane: bool,
    ) -> Option<EndpointId> {
        let (parcel, items) = self.open(task, room).await?;
        let (now, endpoint) = (self.clock.now(), parcel.endpoint);
        match verdict::shut(self.gate(endpoint, now), now) {
            None => {
                if let Err(items) = self.0.board.admit(items, from_lane) {
                    self.put(parcel, items, None);
                }
            }
            shut => self.put(parcel, items, shut),
        }
        Some(endpoint)
    }

    /// Sends one delivery of a message to the lane's endpoint although its breaker is open, and puts the
    /// others back; says whether it did. Nothing may be left of a message, or its rule may go elsewhere now.
    pub(super) async fn place_probe(&self, endpoint: EndpointId, task: Task, room: Room) -> bool {
        let Some((parcel, mut items)) = self.open(task, room).await else {
            return false;
        };
        let now = self.clock.now();
        if parcel.endpoint != endpoint {
            self.put(parcel, items, None);
            return false;
        }
        let mut rest = items.split_off(1);
        for item in &mut items {
            item.is_probe = true;
        }
        let refused = self.0.board.admit(items, true).err();
        let was_placed = refused.is_none();
        rest.splice(..0, refused.into_iter().flatten());
        for item in &mut rest {
            item.is_probe = false;
        }
        if !rest.is_empty() {
            self.put(parcel, rest, Some((Reason::Breaker, Some(now))));
        }
        was_placed
    }

    /// Reads a message, and deals with those of its deliveries that end without another attempt; `None`
    /// if nothing else is left of it.
    async fn open(&self, task: Task, room: Room) -> Option<(Arc<Parcel>, Vec<Item>)> {
        let mut jobs = match record::jobs(task.payload()) {
            Ok(jobs) if !jobs.is_empty() => jobs,
            Ok(_) => {
                let _ = task.settle().await;
                return None;
            }
            Err(error @ journal::Error::Corrupt { .. }) => {
                journal::metrics::unreadable("deliveries", "queue", &error);
                let _ = task.give_up().await;
                return None;
            }
            // For a worker of that version.
            Err(_) => {
                let _ = task.hand_back_later().await;
                return None;
            }
        };
        let message = Message::of(task.sequence(), &jobs[0]);
        jobs.retain(|job| self.cancels.of(job) != Some(Void::Superseded));
        if jobs.is_empty() {
            // Where its deliveries stand is for the round to say that they are in now.
            let _ = task.settle().await;
            return None;
        }
        let target = self.targets.of(jobs[0].matched.rule);
        if let Some(Target::Url(url)) = &target {
            for job in &mut jobs {
                job.matched.url = url.to_string();
            }
        }
        let (org, url) = (jobs[0].matched.org, jobs[0].matched.url.as_str());
        let place = (org, EndpointId::of(org, url), target::host(url));
        let parcel = Parcel::new((task, message), place, &jobs, room);
        let hands = &self.0.hands;
        if let Err(known) = hands.take(message, &parcel.deliveries, Arc::downgrade(&parcel)) {
            let _ = match known {
                Known::InHand => parcel.task.still_at_it().await,
                Known::DealtWith => parcel.task.settle().await,
                Known::InAnother => parcel.task.hand_back_later().await,
            };
            return None;
        }
        let now = self.clock.now();
        let (mut ended, mut items) = (Vec::new(), Vec::new());
        for job in jobs {
            let void = self.cancels.of(&job);
            let end = verdict::end_of(&job, void, target.as_ref(), now);
            let item = Item::new(job, &parcel, self);
            match end {
                Some((state, reason)) => ended.push(Ended {
                    item,
                    state,
                    reason,
                }),
                None => items.push(item),
            }
        }
        if !ended.is_empty() {
            self.end(ended);
        }
        (!items.is_empty()).then_some((parcel, items))
    }
}

/// Room for at least one message, and for as many as there is, at most `most`.
pub(super) async fn reserve(room: &Arc<Semaphore>, most: usize) -> Vec<OwnedSemaphorePermit> {
    let first = Arc::clone(room).acquire_owned().await;
    let mut places: Vec<_> = first.into_iter().collect();
    while places.len() < most {
        let Ok(place) = Arc::clone(room).try_acquire_owned() else {
            break;
        };
        places.push(place);
    }
    places
}
