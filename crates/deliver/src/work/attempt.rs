//! Makes one attempt, puts it on record, and sees to what follows.

use std::time::Duration;

use domain::{
    AttemptId, Timestamp,
    delivery::{
        Answer, State, Trigger,
        endpoint::Gate,
        schedule::{self, Next},
    },
};
use journal::{
    frames::Frames,
    record::{Attempted, EndpointNoticed, Job, OutcomeRecord},
    system_events::Unrecorded,
};
use metrics::{counter, gauge, histogram};
use runtime::{error_chain::chain, random};

use super::{
    LEARN_UNTIL, Worker,
    in_flight::Item,
    park::Ended,
    verdict::{self, Instead, Known},
};
use crate::{failure_event::Failure, metrics as names, send::Sent, snapshots::Learned};

impl Worker {
    /// Sends what has a slot, unless something changed since it was admitted.
    pub(super) fn start(&self, mut item: Item) {
        let Some(instead) = self.instead(&item) else {
            item.touch();
            let worker = self.clone();
            self.spawn(async move {
                gauge!(names::DELIVERIES_IN_FLIGHT).increment(1.0);
                worker.attempt(item).await;
                gauge!(names::DELIVERIES_IN_FLIGHT).decrement(1.0);
            });
            return;
        };
        item.give_slot_back();
        match instead {
            // Nothing is put on record of it.
            Instead::Forget => item.done(),
            Instead::End(state, reason) => self.end(vec![Ended {
                item,
                state,
                reason,
            }]),
            Instead::Move => self.queue_anew(item),
            Instead::Clear(shut) => self.clear(item, shut),
        }
    }

    fn instead(&self, item: &Item) -> Option<Instead> {
        let (job, now) = (&item.job, self.clock.now());
        let known = Known {
            void: self.cancels.of(job),
            target: self.targets.of(job.matched.rule),
            gate: self.gate(item.share.endpoint, now),
        };
        verdict::instead(job, item.is_probe, &known, now)
    }

    async fn attempt(&self, mut item: Item) {
        let (begun, started_at) = (self.clock.now(), self.own_clock.now());
        let sent = self.sender.send(&item.job, started_at).await;
        let (over, finished_at) = (self.clock.now(), self.own_clock.now());
        let sent = sent.unless_by_our_clock(started_at, begun);
        let answer = sent.answer();
        let trips = item.answered(&answer, (begun, over));
        count(&item.job, &sent, begun, over);
        let learned = self.learn(&item.job, &answer, trips, over).await;
        let times = Times {
            begun,
            over,
            started_at,
            finished_at,
        };
        let concluded = conclude(&item.job, sent, times, learned);
        if self.record(&item, &concluded).await {
            item.done();
        }
    }

    /// What the answer says about the endpoint. Should that not be noted, the next answer says it again.
    async fn learn(
        &self,
        job: &Job,
        answer: &Answer,
        trips: bool,
        now: Timestamp,
    ) -> Option<Learned> {
        let whose = (job.matched.org, job.matched.url.as_str());
        let learned = tokio::select! {
            learned = self.endpoints.learn(whose, answer, trips, now) => learned,
            () = self.stopped_for(LEARN_UNTIL) => return None,
        };
        learned.unwrap_or_else(|error| {
            tracing::warn!(error = chain(&error), "endpoint state not recorded");
            None
        })
    }

    /// Puts an attempt on record and queues the next, whatever becomes of the journal: what was sent and is not on
    /// record would be sent again. Each step is repeated by itself, so that what worked is not done again. Whether all
    /// of it is done.
    async fn record(&self, item: &Item, concluded: &Concluded) -> bool {
        let outcomes = self.outcomes.of(item.job.matched.org);
        let append = || outcomes.append_patiently(concluded.frames.clone());
        let tell = || self.tell(&item.job, concluded);
        let queue = || self.queue_next(item, concluded);
        self.persist("record an attempt", append).await
            && self
                .persist("record audit events for an attempt", tell)
                .await
            && self.persist("queue the next attempt", queue).await
    }

    async fn tell(&self, job: &Job, concluded: &Concluded) -> Result<(), journal::Error> {
        for noticed in &concluded.noticed {
            told(self.notices.tell(noticed).await)?;
        }
        told(self.failures.tell(job, concluded.failure.clone()).await)
    }

    async fn queue_next(&self, item: &Item, concluded: &Concluded) -> Result<(), journal::Error> {
        let Some(again) = &concluded.again else {
            return Ok(());
        };
        let task = Some(&item.message().task);
        self.journal.deliver_later(task, again).await
    }

    /// Tells the trail of a delivery that became too old while it waited.
    pub(super) async fn tell_of_expiry(
        &self,
        job: &Job,
        now: Timestamp,
    ) -> Result<(), journal::Error> {
        let failure = Failure {
            state: State::Failed,
            attempts: job.attempt - 1,
            status: None,
            error: Some("It could not be sent within 72 hours.".to_owned()),
            at: now,
        };
        told(self.failures.tell(job, failure).await)
    }
}

/// What came of an attempt.
struct Concluded {
    /// What is to be put on record.
    frames: Frames,
    /// What is to be told.
    noticed: Vec<EndpointNoticed>,
    failure: Failure,
    /// The next attempt, if there is one.
    again: Option<Job>,
}

/// When an attempt was made.
#[derive(Clone, Copy)]
struct Times {
    /// By the journal's clock: what follows goes by these, and the order of attempts that several workers made.
    begun: Timestamp,
    over: Timestamp,
    /// By this machine's: as it was signed, and as it is put on record.
    started_at: Timestamp,
    finished_at: Timestamp,
}

fn conclude(job: &Job, sent: Sent, times: Times, learned: Option<Learned>) -> Concluded {
    let attempt = (job.matched.delivery, job.attempt);
    let next = schedule::next(attempt, job.round(), &sent.answer(), times.over);
    let gate = learned.as_ref();
    let gate = gate.map_or(Gate::Open, |learned| learned.endpoint.gate(times.over));
    let next = verdict::unless_shut(next, gate);
    let attempted = attempted(job, sent, times, next);
    let noticed = noticed(learned, &attempted);
    let failure = Failure {
        state: attempted.state,
        attempts: attempted.number,
        status: attempted.status,
        error: attempted.error.clone(),
        at: attempted.finished_at,
    };
    let mut frames = Frames::from_iter([OutcomeRecord::Attempted(Box::new(attempted))]);
    for noticed in &noticed {
        frames.push(&OutcomeRecord::Endpoint(Box::new(noticed.clone())));
    }
    let again = match next {
        Next::At { due, step } => Some(Job {
            attempt: job.attempt + 1,
            trigger: Trigger::Retry,
            due_at: due,
            step,
            held: None,
            ..job.clone()
        }),
        _ => None,
    };
    Concluded {
        frames,
        noticed,
        failure,
        again,
    }
}

fn attempted(job: &Job, sent: Sent, times: Times, next: Next) -> Attempted {
    let seconds = |wait: Duration| u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
    Attempted {
        id: AttemptId::new(times.begun, random::bytes()),
        org: job.matched.org,
        delivery: job.matched.delivery,
        number: job.attempt,
        trigger: job.trigger,
        due_at: job.due_at,
        started_at: times.started_at,
        finished_at: times.finished_at,
        timings: sent.timings,
        signed_at: times.started_at,
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
        retry_after_s: sent.retry_after.map(seconds),
        state: next.state(),
        reason: next.reason(),
        next_at: next.due(),
    }
}

fn noticed(learned: Option<Learned>, attempted: &Attempted) -> Vec<EndpointNoticed> {
    let Some(Learned { endpoint, notices }) = learned else {
        return Vec::new();
    };
    let noticed = |notice| EndpointNoticed {
        endpoint: endpoint.clone(),
        notice,
        error: attempted.error.clone(),
        at: attempted.finished_at,
    };
    notices.into_iter().map(noticed).collect()
}

fn told(told: Result<(), Unrecorded>) -> Result<(), journal::Error> {
    match told {
        Err(Unrecorded::Journal(error)) => Err(error),
        Err(error) => {
            // Ours to mend; the delivery is on record all the same.
            tracing::error!(error = chain(&error), "audit event not recorded");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn count(job: &Job, sent: &Sent, begun: Timestamp, over: Timestamp) {
    let took: Duration = over.since(begun);
    counter!(names::DELIVERY_ATTEMPTS, "outcome" => sent.outcome.as_str()).increment(1);
    histogram!(names::DELIVERY_ATTEMPT_SECONDS).record(took);
    histogram!(names::DELIVERY_LAG_SECONDS).record(begun.since(job.due_at));
    tracing::debug!(
        delivery.id = %job.matched.delivery,
        org.id = %job.matched.org,
        attempt = job.attempt,
        outcome = sent.outcome.as_str(),
        duration_ms = took.as_secs_f64() * 1e3,
        "attempted"
    );
}
