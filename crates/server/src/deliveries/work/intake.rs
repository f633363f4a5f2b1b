//! Takes messages off the queue and finds a place for their deliveries.

use std::{sync::Arc, time::Duration};

use domain::{
    EndpointId,
    delivery::{Reason, State, endpoint::Gate, schedule},
    partition::Partition,
};
use journal::{
    cancels::Void,
    queue::Lane,
    record::{self, Job},
    work::Task,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Worker,
    elsewhere::Ended,
    parcel::{Item, Parcel, Room},
};
use crate::{
    deliveries::send::target,
    retry::Retries,
    snapshots::Target,
    telemetry::{self},
};

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
        let (parcel, jobs) = self.open(task, room).await?;
        let (now, endpoint) = (self.clock.now(), parcel.endpoint);
        match self.gate(endpoint, now) {
            Gate::Open => {
                let items = items(&parcel, jobs);
                if let Err(items) = self.0.board.admit(items, from_lane) {
                    let jobs = items.into_iter().map(|item| item.job).collect();
                    self.put(parcel, jobs, None);
                }
            }
            // Whoever takes from the lane sends the probe.
            Gate::Probe => self.put(parcel, jobs, Some((Reason::Breaker, Some(now)))),
            Gate::Shut { reason, until } => self.put(parcel, jobs, Some((reason, until))),
        }
        Some(endpoint)
    }

    /// Sends one delivery of a message to the lane's endpoint although its breaker is open, and puts the
    /// others back; says whether it did. Nothing may be left of a message, or its rule may go elsewhere now.
    pub(super) async fn place_probe(&self, endpoint: EndpointId, task: Task, room: Room) -> bool {
        let Some((parcel, mut jobs)) = self.open(task, room).await else {
            return false;
        };
        let now = self.clock.now();
        if parcel.endpoint != endpoint {
            self.put(parcel, jobs, None);
            return false;
        }
        let rest = jobs.split_off(1);
        let mut items = items(&parcel, jobs);
        for item in &mut items {
            item.is_probe = true;
        }
        let refused = self.0.board.admit(items, true).err();
        let was_placed = refused.is_none();
        let refused = refused.into_iter().flatten().map(|item| item.job);
        let rest: Vec<Job> = refused.chain(rest).collect();
        if !rest.is_empty() {
            self.put(parcel, rest, Some((Reason::Breaker, Some(now))));
        }
        was_placed
    }

    /// Reads a message, and deals with those of its deliveries that end without another attempt; `None`
    /// if nothing else is left of it.
    async fn open(&self, task: Task, room: Room) -> Option<(Arc<Parcel>, Vec<Job>)> {
        let mut jobs = match record::jobs(task.payload()) {
            Ok(jobs) if !jobs.is_empty() => jobs,
            Ok(_) => {
                let _ = task.settle().await;
                return None;
            }
            Err(error @ journal::Error::Corrupt { .. }) => {
                telemetry::unreadable("deliveries", "queue", &error);
                let _ = task.give_up().await;
                return None;
            }
            // For a worker of that version.
            Err(_) => {
                let _ = task.hand_back_later().await;
                return None;
            }
        };
        jobs.retain(|job| self.cancels.of(job) != Some(Void::Superseded));
        if jobs.is_empty() {
            // Where its deliveries stand is for the round to say that they are in now.
            let _ = task.settle().await;
            return None;
        }
        if let Some(of) = self
            .0
            .board
            .in_hand(jobs.iter().map(|job| job.matched.delivery))
        {
            // The same message came again: it is ours. Another waits until we are done.
            let _ = if of == task.sequence() {
                task.still_at_it().await
            } else {
                task.hand_back_later().await
            };
            return None;
        }
        let target = self.targets.of(jobs[0].matched.rule);
        if let Some(Target::Url(url)) = &target {
            for job in &mut jobs {
                job.matched.url = url.to_string();
            }
        }
        let endpoint = EndpointId::of(jobs[0].matched.org, &jobs[0].matched.url);
        let host = target::host(&jobs[0].matched.url);
        let parcel = Parcel::new(task, (endpoint, host), jobs.len(), room);
        let (ended, jobs): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .map(|job| (self.end_of(&job, target.as_ref()), job))
            .partition(|(end, _)| end.is_some());
        let ended: Vec<Ended> = ended
            .into_iter()
            .filter_map(|(end, job)| Some((job, end?)))
            .map(|(job, (state, reason))| Ended { job, state, reason })
            .collect();
        let jobs: Vec<Job> = jobs.into_iter().map(|(_, job)| job).collect();
        if !ended.is_empty() {
            self.end(Arc::clone(&parcel), ended);
        }
        (!jobs.is_empty()).then_some((parcel, jobs))
    }

    /// Whether a delivery ends here.
    pub(super) fn end_of(&self, job: &Job, target: Option<&Target>) -> Option<(State, Reason)> {
        // On record already, unless an attempt that was under way has put something else there since.
        if self.cancels.of(job) == Some(Void::Canceled) {
            return Some((State::Canceled, Reason::User));
        }
        if target == Some(&Target::Gone) {
            return Some((State::Canceled, Reason::RuleDeleted));
        }
        schedule::is_expired(job.round(), self.clock.now())
            .then_some((State::Failed, Reason::Expired))
    }
}

impl Parcel {
    pub(super) fn lane(&self, job: &Job) -> Lane {
        Lane {
            org: job.matched.org,
            endpoint: self.endpoint,
        }
    }
}

fn items(parcel: &Arc<Parcel>, jobs: Vec<Job>) -> Vec<Item> {
    jobs.into_iter()
        .map(|job| Item {
            job,
            parcel: Arc::clone(parcel),
            is_probe: false,
        })
        .collect()
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
