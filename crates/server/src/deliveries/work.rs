//! Takes due deliveries off the queue, makes an attempt of each, and settles it.
//!
//! Record, then settle: what happened is in the journal before the queue forgets the delivery, so a
//! crash repeats a send but never loses one.

use std::{sync::Arc, time::Duration};

use domain::{
    AttemptId, Timestamp,
    clock::Clock,
    delivery::{
        Trigger,
        schedule::{self, Next},
    },
};
use journal::{
    Journal,
    frames::Frames,
    record::{self, Attempted, Job, OutcomeRecord},
    work::Task,
};
use metrics::{counter, gauge, histogram};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    failure::Failures,
    send::{Sender, Sent},
};
use crate::{
    chance,
    error_chain::chain,
    events::own::Unrecorded,
    planes::Appenders,
    retry::Retries,
    telemetry::{self, metrics as names},
};

/// A send slower than this asks for more time to be settled; the usual one saves the message.
const SLOW: Duration = Duration::from_secs(3);

/// One worker of deliveries. Cheap to clone.
#[derive(Clone)]
pub struct Worker {
    journal: Journal,
    sender: Sender,
    outcomes: Appenders,
    failures: Failures,
    clock: Clock,
}

impl Worker {
    pub fn new(
        journal: Journal,
        sender: Sender,
        outcomes: Appenders,
        failures: Failures,
        clock: Clock,
    ) -> Self {
        Self {
            journal,
            sender,
            outcomes,
            failures,
            clock,
        }
    }

    /// Sends what is due until stopped, at most `concurrency` at a time; then finishes what is in
    /// flight.
    pub async fn run(self, concurrency: usize, stopping: CancellationToken) -> anyhow::Result<()> {
        let (slots, in_flight) = (Arc::new(Semaphore::new(concurrency)), TaskTracker::new());
        let mut retries = Retries::new("deliver", &stopping);
        while retries
            .again(self.take(concurrency, &slots, &in_flight, &stopping).await)
            .await
        {}
        in_flight.close();
        in_flight.wait().await;
        Ok(())
    }

    /// Takes deliveries as slots are free.
    async fn take(
        &self,
        concurrency: usize,
        slots: &Arc<Semaphore>,
        in_flight: &TaskTracker,
        stopping: &CancellationToken,
    ) -> Result<(), journal::Error> {
        let mut work = self.journal.deliveries_due(concurrency).await?;
        loop {
            let (slot, task) = tokio::select! {
                taken = async {
                    let slot = Arc::clone(slots).acquire_owned().await;
                    (slot, work.next().await)
                } => taken,
                () = stopping.cancelled() => {
                    work.hand_back_rest().await;
                    return Ok(());
                }
            };
            let (worker, task) = (self.clone(), task?);
            in_flight.spawn(async move {
                gauge!(names::DELIVERIES_IN_FLIGHT).increment(1.0);
                worker.work(&task).await;
                gauge!(names::DELIVERIES_IN_FLIGHT).decrement(1.0);
                drop(slot);
            });
        }
    }

    async fn work(&self, task: &Task) {
        let outcome = match record::jobs(task.payload()) {
            Ok(jobs) => self.attempt_all(task, jobs).await,
            Err(error @ journal::Error::Corrupt { .. }) => {
                telemetry::unreadable("deliveries", "queue", &error);
                task.give_up().await
            }
            // For a worker of that version.
            Err(_) => task.hand_back_later().await,
        };
        if let Err(error) = outcome {
            // Sent or not, it is not on record or not settled: it comes back.
            tracing::warn!(
                error = chain(&error),
                "a delivery was not settled, it will be tried again"
            );
            let _ = task.hand_back_after_failure().await;
        }
    }

    async fn attempt_all(&self, task: &Task, jobs: Vec<Job>) -> Result<(), journal::Error> {
        for job in jobs {
            self.attempt(task, job).await?;
        }
        task.settle().await
    }

    async fn attempt(&self, task: &Task, job: Job) -> Result<(), journal::Error> {
        let started_at = self.clock.now();
        let sent = self.sender.send(&job, started_at).await;
        let finished_at = self.clock.now();
        if finished_at.since(started_at) > SLOW {
            task.still_at_it().await?;
        }
        let attempt = (job.matched.delivery, job.attempt);
        let next = schedule::next(attempt, job.round(), &sent.answer(), finished_at);
        count(&job, &sent, started_at, finished_at);
        let attempted = Attempted {
            id: AttemptId::new(started_at, chance::bytes()),
            org: job.matched.org,
            delivery: job.matched.delivery,
            number: job.attempt,
            trigger: job.trigger,
            due_at: job.due_at,
            started_at,
            finished_at,
            timings: sent.timings,
            signed_at: started_at,
            secrets: sent.secrets,
            url: job.matched.url.clone(),
            remote_address: sent.remote_address.map(|address| address.to_string()),
            tls: sent.tls,
            body_sha256: sent.body_sha256,
            body_bytes: sent.body_bytes,
            status: sent.status,
            outcome: sent.outcome,
            error: sent.error,
            answer_headers: sent.answer_headers,
            answer: sent.answer_text,
            clock_skew_s: sent.clock_skew_s,
            retry_after_s: sent
                .retry_after
                .map(|wait| u32::try_from(wait.as_secs()).unwrap_or(u32::MAX)),
            state: next.state(),
            reason: next.reason(),
            next_at: next.due(),
        };
        let record = OutcomeRecord::Attempted(Box::new(attempted.clone()));
        let frames = Frames::from_iter([record]);
        self.outcomes
            .of(job.matched.org)
            .append_patiently(frames)
            .await?;
        self.tell_of_failure(&job, &attempted).await?;
        if let Next::At { due, step } = next {
            let again = Job {
                attempt: job.attempt + 1,
                trigger: Trigger::Retry,
                due_at: due,
                step,
                ..job
            };
            self.journal.deliver_later(&again).await?;
        }
        Ok(())
    }

    async fn tell_of_failure(
        &self,
        job: &Job,
        attempted: &Attempted,
    ) -> Result<(), journal::Error> {
        match self.failures.tell(job, attempted).await {
            Err(Unrecorded::Journal(error)) => Err(error),
            Err(error) => {
                // Ours to mend; the delivery is on record all the same.
                tracing::error!(error = chain(&error), "a failure is not in the trail");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

fn count(job: &Job, sent: &Sent, started_at: Timestamp, finished_at: Timestamp) {
    let took: Duration = finished_at.since(started_at);
    counter!(names::DELIVERY_ATTEMPTS, "outcome" => sent.outcome.as_str()).increment(1);
    histogram!(names::DELIVERY_ATTEMPT_SECONDS).record(took);
    histogram!(names::DELIVERY_LAG_SECONDS).record(started_at.since(job.due_at));
    tracing::debug!(
        delivery.id = %job.matched.delivery,
        org.id = %job.matched.org,
        attempt = job.attempt,
        outcome = sent.outcome.as_str(),
        duration_ms = took.as_secs_f64() * 1e3,
        "attempted"
    );
}
