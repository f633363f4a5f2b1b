//! Takes messages off the queue and finds a place for their deliveries.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{
    EndpointId,
    delivery::{Host, Reason},
    partition::Partition,
};
use journal::{
    cancellations::Void,
    record::{self, Job},
    work_queue::Task,
};
use runtime::{error_chain::chain, retry::Retries};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Worker,
    in_flight::{InFlightMessage, Item, Room, RoomAtHost, Share},
    message_registry::{Known, MessageKey},
    park::Ended,
    verdict,
};
use crate::{send::target, snapshots::Target};

/// Messages of what is due in a partition that a worker has at a time. A slow endpoint may have something of sixteen of them,
/// and an organization of 128 for a host, so 64 endpoints at eight hosts that answer slowly and never fail fit beside each
/// other before anybody waits.
const MESSAGES_MAX: usize = 1_024;
/// Messages asked for at a time, and for how long.
const PULL_MAX: usize = 64;
const PULL_PATIENCE: Duration = Duration::from_secs(5);

impl Worker {
    /// Takes what is due in a partition, until stopped.
    pub(super) async fn take_due(self, partition: Partition) {
        let room = Arc::new(Semaphore::new(MESSAGES_MAX));
        let what = format!("take deliveries from partition {}", partition.index());
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

    /// Finds a place for a message: in the scheduler, or in a lane, for each endpoint by itself. `from_lane`: its turn has
    /// come, so it is not sent back to the end of the line. Says for which endpoints something is left of it.
    pub(super) async fn place(&self, task: Task, room: Room, from_lane: bool) -> Vec<EndpointId> {
        let shares = self.open(task, room).await;
        let now = self.clock.now();
        let mut endpoints = Vec::with_capacity(shares.len());
        for (share, items) in shares {
            endpoints.push(share.endpoint);
            match verdict::shut(self.gate(share.endpoint, now), now) {
                None => {
                    if let Err(items) = self.0.scheduler.admit(items, from_lane) {
                        self.put(share, items, None);
                    }
                }
                shut => self.put(share, items, shut),
            }
        }
        endpoints
    }

    /// Sends one delivery of a message to the lane's endpoint although its breaker is open, and puts the
    /// others back; says whether it did. Nothing may be left of a message, or its rules may go elsewhere now.
    pub(super) async fn place_probe(&self, endpoint: EndpointId, task: Task, room: Room) -> bool {
        let mut was_placed = false;
        for (share, items) in self.open(task, room).await {
            if share.endpoint == endpoint {
                was_placed = self.probe_with(share, items);
            } else {
                self.put(share, items, None);
            }
        }
        was_placed
    }

    /// Admits the first of these, and puts the others back; whether it was admitted.
    fn probe_with(&self, share: Arc<Share>, mut items: Vec<Item>) -> bool {
        let now = self.clock.now();
        let mut rest = items.split_off(1);
        for item in &mut items {
            item.is_probe = true;
        }
        let refused = self.0.scheduler.admit(items, true).err();
        let was_placed = refused.is_none();
        rest.splice(..0, refused.into_iter().flatten());
        for item in &mut rest {
            item.is_probe = false;
        }
        if !rest.is_empty() {
            self.put(share, rest, Some((Reason::Breaker, Some(now))));
        }
        was_placed
    }

    /// Reads a message and parts it by endpoint. Deals with those of its deliveries that end without another attempt;
    /// says what else is left of it.
    async fn open(&self, task: Task, room: Room) -> Vec<(Arc<Share>, Vec<Item>)> {
        let Some((task, key, jobs)) = self.read(task).await else {
            return Vec::new();
        };
        let (room, at_host) = room.part();
        let message = InFlightMessage::new((task, key), &jobs, room);
        let registry = &self.0.registry;
        if let Err(known) = registry.take(key, &message.deliveries, Arc::downgrade(&message)) {
            let _ = match known {
                Known::InHand => message.task.still_at_it().await,
                Known::DealtWith => message.task.settle().await,
                Known::InAnother => message.task.hand_back_later().await,
            };
            return Vec::new();
        }
        let now = self.clock.now();
        let mut rooms: HashMap<Host, RoomAtHost> = at_host.into_iter().collect();
        let (mut shares, mut ended) = (Vec::new(), Vec::new());
        for jobs in by_url(jobs) {
            let url = jobs[0].matched.url.as_str();
            let (endpoint, host) = (EndpointId::of(message.org, url), target::host(url));
            let room = rooms.entry(host).or_default().clone();
            let share = Share::new(&message, (endpoint, host), jobs.len(), room);
            let mut items = Vec::with_capacity(jobs.len());
            for job in jobs {
                let target = self.targets.of(job.matched.rule);
                let end = verdict::end_of(&job, self.cancels.of(&job), target.as_ref(), now);
                let item = Item::new(job, &share, self);
                match end {
                    Some((state, reason)) => ended.push(Ended {
                        item,
                        state,
                        reason,
                    }),
                    None => items.push(item),
                }
            }
            if !items.is_empty() {
                shares.push((share, items));
            }
        }
        if !ended.is_empty() {
            self.end(ended);
        }
        shares
    }

    /// The deliveries that a message asks for, each with the URL that its rule goes to now; `None` if none is left.
    async fn read(&self, task: Task) -> Option<(Task, MessageKey, Vec<Job>)> {
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
        let key = MessageKey::of(task.sequence(), &jobs[0]);
        if !self.0.registry.know(key)
            && let Err(error) = self.leave_out_delivered(&task, &mut jobs).await
        {
            tracing::warn!(
                error = chain(&error),
                "cannot tell which deliveries of a message are done; handed back for later"
            );
            let _ = task.hand_back_later().await;
            return None;
        }
        // Where those stand that nobody wants in this round is for the next one to say.
        jobs.retain(|job| self.cancels.of(job) != Some(Void::Superseded));
        if jobs.is_empty() {
            let _ = task.settle().await;
            return None;
        }
        for job in &mut jobs {
            if let Some(Target::Url(url)) = self.targets.of(job.matched.rule)
                && *url != *job.matched.url
            {
                job.matched.url = url.to_string();
            }
        }
        Some((task, key, jobs))
    }
}

/// Deliveries to the same URL together, in their order.
fn by_url(jobs: Vec<Job>) -> Vec<Vec<Job>> {
    let mut together: Vec<Vec<Job>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for job in jobs {
        match places.get(&job.matched.url) {
            Some(place) => together[*place].push(job),
            None => {
                places.insert(job.matched.url.clone(), together.len());
                together.push(vec![job]);
            }
        }
    }
    together
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
