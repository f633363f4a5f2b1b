//! Sends what is due, fairly, and settles it.
//!
//! A worker takes messages off the queue ([`intake`]) and either admits their deliveries to its [`scheduler`],
//! which says who is next, or puts them elsewhere ([`park`]): into the lane of an endpoint that
//! cannot take them now, or out of the queue if nothing is to be sent. Whoever is next is [attempted](attempt).
//! What stands in a lane is taken when its endpoint can be sent to again ([`lanes`]). A message that is in
//! a worker's hands is a [`in_flight`], and what of it goes to one endpoint is a share of it.
//!
//! A delivery in a worker:
//!
//! ```text
//!   queue ──open──▶ waiting ──slot──▶ sending ──answer──▶ recording ──▶ done
//!              │       │                                      │
//!              │       ├─ endpoint shut or full ──▶ parking ──┤ (its lane)
//!              │       ├─ rule goes elsewhere ──▶ queuing ────┤ (the queue, anew)
//!              └───────┴─ canceled, expired ────▶ ending ─────┘
//! ```
//!
//! With the last delivery that is done its message is settled. What is not done when its task ends, because the
//! worker stops or the task panics, is queued again by itself. What the queue hands out again is recognized
//! ([`message_registry`]), and what somebody else had of it and delivered is found on record ([`redelivery`]).
//!
//! Record, then settle: what happened is in the journal before the queue forgets the delivery, so a
//! crash repeats a send but never loses one. Also what is only moved is on record first: of a message that was settled
//! everything is, so whoever queues again what it asked for can tell ([`journal::requeue`]). While the journal is away whoever sent waits with what happened; when as
//! many wait as there are slots no more is sent.

mod attempt;
mod endpoint_slots;
mod in_flight;
mod intake;
mod lanes;
mod message_registry;
mod park;
mod redelivery;
mod scheduler;
#[cfg(test)]
mod simulation;
mod verdict;

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use domain::{
    EndpointId, Timestamp,
    clock::Clock,
    delivery::{Gate, Reason},
};
use futures::FutureExt as _;
use journal::{Journal, appenders::Appenders, frames::Frames, record::Job};
use metrics::gauge;
use runtime::{error_chain::chain, retry::Retries};
use tokio::{
    sync::{Semaphore, broadcast::error::RecvError},
    time::{Instant, interval, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    in_flight::{End, InFlightMessage},
    message_registry::MessageRegistry,
    redelivery::DeliveredBefore,
    scheduler::Scheduler,
};
use super::{endpoints::notice::Notices, failure_event::Failures, send::Sender};
use crate::{
    metrics as names,
    snapshots::{Cancels, Endpoints, Owners, Targets},
};

/// How often the queue hears which messages we still have: four times before it gives them to another.
const STILL_AT_IT_EVERY: Duration = Duration::from_secs(4);

/// How long after it was told to stop a worker still waits for the journal: to note what an answer says of its
/// endpoint, with what was sent or moved, and with messages. A process has 24 seconds to stop, a send takes ten of
/// them, and an append that was under way has its fifteen.
const LEARN_UNTIL: Duration = Duration::from_secs(12);
const RECORD_UNTIL: Duration = Duration::from_secs(17);
const SETTLE_UNTIL: Duration = Duration::from_secs(22);
/// An append that begins later than this would not be over in time.
const APPEND_BEGINS_UNTIL: Duration = Duration::from_secs(8);
/// How soon a delivery is tried again whose task panicked.
const AFTER_PANIC: Duration = Duration::from_secs(10);

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
    /// The journal's: what waits, and what workers share, goes by it.
    pub clock: Clock,
    /// This machine's: what is signed and put on record goes by it.
    pub own_clock: Clock,
}

/// How many sends a worker has in flight at most.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// In all.
    pub slots: usize,
    pub per_endpoint: u32,
    /// To one host, of one organization.
    pub per_host: u32,
}

/// One worker of deliveries. Cheap to clone.
#[derive(Clone)]
pub struct Worker(Arc<Inner>);

struct Inner {
    tools: Tools,
    scheduler: Scheduler,
    registry: MessageRegistry<InFlightMessage>,
    delivered_before: DeliveredBefore,
    /// Room for messages from lanes.
    lane_room: Arc<Semaphore>,
    /// Who takes from lanes, and whoever is dealing with a delivery.
    lanes: TaskTracker,
    busy: TaskTracker,
    stopping: CancellationToken,
    stopped_at: OnceLock<Instant>,
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
            scheduler: Scheduler::new(bounds),
            registry: MessageRegistry::new(),
            delivered_before: DeliveredBefore::default(),
            lane_room: Arc::new(Semaphore::new(lanes::MESSAGES_MAX)),
            lanes: TaskTracker::new(),
            busy: TaskTracker::new(),
            stopping,
            stopped_at: OnceLock::new(),
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
        self.hand_back_all();
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
            while let Some(item) = self.0.scheduler.next() {
                self.start(item);
            }
            tokio::select! {
                () = self.0.scheduler.changed.notified() => {}
                () = self.stopped_for(Duration::ZERO) => return,
            }
        }
    }

    /// Tells the queue now and then that we still have what we have.
    async fn stay_at_it(&self) {
        let mut every = interval(STILL_AT_IT_EVERY);
        loop {
            every.tick().await;
            self.0.delivered_before.forget();
            let messages = self.0.registry.messages();
            gauge!(names::DELIVERY_MESSAGES_HELD)
                .set(u32::try_from(messages.len()).unwrap_or(u32::MAX));
            // One after the other: a message that is kept here keeps its room.
            for message in messages.iter().filter_map(Weak::upgrade) {
                if let Err(error) = message.task.still_at_it().await {
                    tracing::debug!(
                        error = chain(&error),
                        "could not report progress; the queue may redeliver a message"
                    );
                }
            }
        }
    }

    /// Other workers close and open gates too.
    async fn hear_of_endpoints(self) {
        let (mut news, mut proofs) = (self.endpoints.changes(), self.owners.changes());
        let mut left = self.targets.left();
        loop {
            let heard = tokio::select! {
                heard = news.recv() => heard,
                heard = proofs.recv() => heard,
                heard = left.recv() => {
                    self.0.scheduler.rules_left(heard.ok());
                    continue;
                }
                () = self.0.stopping.cancelled() => return,
            };
            match heard {
                Ok(endpoint) => {
                    let is_open = self.endpoints.has_open_breaker(endpoint);
                    self.0.scheduler.heard(endpoint, is_open);
                }
                Err(RecvError::Lagged(_)) => self.0.scheduler.wake_all_lanes(),
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Deals with a delivery, or several, beside everything else.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.0.busy.spawn(async {
            if AssertUnwindSafe(work).catch_unwind().await.is_err() {
                tracing::error!("a delivery panicked; it will be retried");
            }
        });
    }

    /// Tries until it works, or we stop, and once more then if there is time; whether it worked.
    async fn persist<F>(&self, what: &'static str, work: impl Fn() -> F) -> bool
    where
        F: Future<Output = Result<(), journal::Error>>,
    {
        let mut retries = None;
        loop {
            let is_last = self.0.stopping.is_cancelled();
            if retries.is_some() && !self.may_append() {
                return false;
            }
            let worked = tokio::select! {
                biased;
                worked = work() => worked,
                () = self.stopped_for(RECORD_UNTIL) => return false,
            };
            if worked.is_ok() {
                return true;
            }
            let retries = retries.get_or_insert_with(|| Retries::new(what, &self.0.stopping));
            retries.again(worked).await;
            if is_last {
                return false;
            }
        }
    }

    /// Whether an append that begins now is over before we must be, however long it takes.
    fn may_append(&self) -> bool {
        let stopped_at = self.0.stopped_at.get();
        stopped_at.is_none_or(|stopped_at| stopped_at.elapsed() < APPEND_BEGINS_UNTIL)
    }

    /// Returns so long after we were told to stop.
    async fn stopped_for(&self, time: Duration) {
        self.0.stopping.cancelled().await;
        let stopped_at = *self.0.stopped_at.get_or_init(Instant::now);
        sleep_until(stopped_at + time).await;
    }

    /// The last delivery of a message is out of our hands.
    fn close(&self, message: Arc<InFlightMessage>, end: End) {
        let worker = self.clone();
        self.spawn(async move {
            tokio::select! {
                () = worker.end_message(&message, end) => {}
                // It comes back.
                () = worker.stopped_for(SETTLE_UNTIL) => {}
            }
            let registry = &worker.0.registry;
            registry.put_down(message.key, &message.deliveries);
        });
    }

    async fn end_message(&self, message: &InFlightMessage, end: End) {
        let ended = match end {
            End::Settle => self.settle(message).await,
            End::HandBack => message.task.hand_back().await,
            End::QueueAgain(jobs) => self.queue_again(message, &jobs).await,
        };
        if let Err(error) = ended {
            tracing::warn!(
                error = chain(&error),
                "a message was not acknowledged; it will be redelivered"
            );
        }
    }

    async fn settle(&self, message: &InFlightMessage) -> Result<(), journal::Error> {
        // Should that fail it comes again.
        self.0.registry.remember(message.key);
        message.task.settle().await
    }

    /// Queues what was not dealt with.
    async fn queue_again(
        &self,
        message: &InFlightMessage,
        jobs: &[Job],
    ) -> Result<(), journal::Error> {
        if let Err(error) = self.move_undone(message, jobs).await {
            let _ = message.task.hand_back_after_failure().await;
            return Err(error);
        }
        self.settle(message).await
    }

    /// At once if we stop, so that others go on with it; a little later after a panic.
    async fn move_undone(
        &self,
        message: &InFlightMessage,
        jobs: &[Job],
    ) -> Result<(), journal::Error> {
        let news: Frames = jobs.iter().filter_map(park::first_word).collect();
        if news.count() > 0 && self.may_append() {
            self.outcomes.of(message.org).append_patiently(news).await?;
        }
        let due_at = self.clock.now().plus(AFTER_PANIC);
        let later = || self.queue_later(message, jobs, due_at);
        let is_queued =
            !self.0.stopping.is_cancelled() && self.persist("requeue a delivery", later).await;
        if is_queued {
            return Ok(());
        }
        self.journal.put_back(&message.task, jobs).await
    }

    async fn queue_later(
        &self,
        message: &InFlightMessage,
        jobs: &[Job],
        due_at: Timestamp,
    ) -> Result<(), journal::Error> {
        for job in jobs {
            let later = Job {
                due_at: due_at.max(job.since),
                ..job.clone()
            };
            self.journal
                .deliver_later(Some(&message.task), &later)
                .await?;
        }
        Ok(())
    }

    /// Nothing that waits here is sent any more.
    fn hand_back_all(&self) {
        let items = self.0.scheduler.take_all();
        for item in &items {
            item.message().give_back_if_whole();
        }
    }
}
