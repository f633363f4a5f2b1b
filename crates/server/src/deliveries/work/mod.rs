//! Sends what is due, fairly, and settles it.
//!
//! A worker takes messages off the queue ([`intake`]) and either admits their deliveries to its [`board`],
//! which says who is next, or puts them elsewhere ([`elsewhere`]): into the lane of an endpoint that
//! cannot take them now, or out of the queue if nothing is to be sent. Whoever is next is [attempted](attempt).
//! What stands in a lane is taken when its endpoint can be sent to again ([`lanes`]). A message that is in
//! a worker's hands is a [`parcel`].
//!
//! Record, then settle: what happened is in the journal before the queue forgets the delivery, so a
//! crash repeats a send but never loses one.

mod attempt;
mod board;
mod elsewhere;
mod intake;
mod lanes;
mod parcel;

use std::{sync::Arc, time::Duration};

use domain::{
    EndpointId, Timestamp,
    clock::Clock,
    delivery::{Gate, Reason},
};
use futures::{StreamExt as _, stream};
use journal::{Journal, record::Job};
use metrics::gauge;
use tokio::{
    sync::{Semaphore, broadcast::error::RecvError},
    time::interval,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    board::Board,
    parcel::{End, Parcel},
};
use super::{endpoints::notice::Notices, failure::Failures, send::Sender};
use crate::{
    error_chain::chain,
    planes::Appenders,
    retry::Retries,
    snapshots::{Cancels, Endpoints, Owners, Targets},
    telemetry::metrics as names,
};

/// How often the queue hears which messages we still have: four times before it gives them to another.
const STILL_AT_IT_EVERY: Duration = Duration::from_secs(4);

/// Messages that are handed back at the same time when a worker stops.
const HAND_BACK_AT_ONCE: usize = 64;

/// What a worker works with.
pub struct Tools {
    pub journal: Journal,
    pub sender: Sender,
    pub outcomes: Appenders,
    pub failures: Failures,
    pub notices: Notices,
    pub endpoints: Endpoints,
    pub owners: Owners,
    pub targets: Targets,
    pub cancels: Cancels,
    pub clock: Clock,
}

/// How many sends a worker has in flight at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// In all.
    pub slots: usize,
    pub per_endpoint: u32,
    /// To one host, of one organisation.
    pub per_host: u32,
}

/// One worker of deliveries. Cheap to clone.
#[derive(Clone)]
pub struct Worker(Arc<Inner>);

struct Inner {
    tools: Tools,
    board: Board,
    /// Room for messages from lanes.
    lane_room: Arc<Semaphore>,
    /// Who takes from lanes, and whoever is dealing with a delivery.
    lanes: TaskTracker,
    busy: TaskTracker,
    stopping: CancellationToken,
}

impl std::ops::Deref for Worker {
    type Target = Tools;

    fn deref(&self) -> &Tools {
        &self.0.tools
    }
}

impl Worker {
    pub fn new(tools: Tools, bounds: Bounds, stopping: CancellationToken) -> Self {
        Self(Arc::new(Inner {
            tools,
            board: Board::new(bounds),
            lane_room: Arc::new(Semaphore::new(lanes::MESSAGES_MAX)),
            lanes: TaskTracker::new(),
            busy: TaskTracker::new(),
            stopping,
        }))
    }

    /// Works until stopped; then finishes what is in flight and hands back the rest.
    pub async fn run(self) -> anyhow::Result<()> {
        let mut retries = Retries::new("get ready to deliver", &self.0.stopping);
        while let Err(error) = self.is_ready().await {
            if !retries.again(Err(error)).await {
                return Ok(());
            }
        }
        // What is in hand must be kept until the last of it is dealt with.
        tokio::select! {
            () = self.work() => {}
            () = self.stay_at_it() => {}
        }
        Ok(())
    }

    async fn work(&self) {
        let taking = TaskTracker::new();
        for partition in self.journal.partitions().all() {
            taking.spawn(self.clone().take_due(partition));
        }
        taking.spawn(self.clone().find_lanes());
        taking.spawn(self.clone().hear_of_endpoints());
        self.dispatch().await;
        taking.close();
        taking.wait().await;
        self.0.lanes.close();
        self.0.lanes.wait().await;
        self.hand_back_all().await;
        self.0.busy.close();
        self.0.busy.wait().await;
    }

    /// Nothing is sent before it is known what must not be.
    async fn is_ready(&self) -> Result<(), journal::Error> {
        self.endpoints.catch_up().await?;
        self.owners.catch_up().await?;
        self.targets.catch_up().await?;
        self.cancels.catch_up().await
    }

    /// Whether something may be sent to an endpoint now. What a person wants comes first, then whose it is.
    fn gate(&self, endpoint: EndpointId, now: Timestamp) -> Gate {
        match self.endpoints.gate(endpoint, now) {
            Gate::Shut { reason, until } if reason.needs_a_person() => Gate::Shut { reason, until },
            gate if self.owners.may_be_sent_to(endpoint) => gate,
            _ => Gate::Shut {
                reason: Reason::Unverified,
                until: None,
            },
        }
    }

    /// Starts the next send whenever there is one and a slot for it.
    async fn dispatch(&self) {
        loop {
            while let Some(slot) = self.0.board.next() {
                self.start(slot);
            }
            tokio::select! {
                () = self.0.board.changed.notified() => {}
                () = self.0.stopping.cancelled() => return,
            }
        }
    }

    /// Tells the queue now and then that we still have what we have.
    async fn stay_at_it(&self) {
        let mut every = interval(STILL_AT_IT_EVERY);
        loop {
            every.tick().await;
            let parcels = self.0.board.parcels();
            gauge!(names::DELIVERY_MESSAGES_HELD)
                .set(u32::try_from(parcels.len()).unwrap_or(u32::MAX));
            for parcel in parcels {
                if let Err(error) = parcel.task.still_at_it().await {
                    tracing::debug!(
                        error = chain(&error),
                        "the queue may take a delivery for lost"
                    );
                }
            }
        }
    }

    /// Other workers close and open gates too.
    async fn hear_of_endpoints(self) {
        let (mut news, mut proofs) = (self.endpoints.news(), self.owners.news());
        loop {
            let heard = tokio::select! {
                heard = news.recv() => heard,
                heard = proofs.recv() => heard,
                () = self.0.stopping.cancelled() => return,
            };
            match heard {
                Ok(endpoint) => {
                    let is_open = self.endpoints.has_open_breaker(endpoint);
                    self.0.board.heard(endpoint, is_open);
                }
                Err(RecvError::Lagged(_)) => self.0.board.wake_all_lanes(),
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Some deliveries of a message are dealt with, or could not be; with the last of them the message is
    /// settled or handed back.
    async fn done(&self, parcel: &Arc<Parcel>, jobs: usize, worked: Result<(), journal::Error>) {
        if let Err(error) = &worked {
            // Sent or not, it is not on record or not settled: it comes back.
            tracing::warn!(
                error = chain(error),
                "a delivery was not settled, it will be tried again"
            );
        }
        let Some(end) = parcel.done(jobs, worked.is_ok()) else {
            return;
        };
        let settled = match end {
            End::Settle => parcel.task.settle().await,
            End::HandBack => parcel.task.hand_back_after_failure().await,
        };
        if let Err(error) = settled {
            tracing::warn!(
                error = chain(&error),
                "a message was not settled, it comes back"
            );
        }
        if parcel.is_admitted() {
            self.0.board.parcel_gone(parcel.endpoint);
        }
    }

    /// Nothing that waits here is sent any more.
    async fn hand_back_all(&self) {
        let parcels = elsewhere::by_parcel(self.0.board.take_all());
        let hand_back = async |(parcel, jobs): (Arc<Parcel>, Vec<Job>)| {
            if parcel.is_touched() {
                let worked = self.journal.put_back(&parcel.task, &jobs).await;
                self.done(&parcel, jobs.len(), worked).await;
            } else {
                // Nothing of it was sent: it goes back as it is.
                let _ = parcel.task.hand_back().await;
            }
        };
        stream::iter(parcels)
            .for_each_concurrent(HAND_BACK_AT_ONCE, hand_back)
            .await;
    }
}
