//! Makes one attempt, puts it on record, and sees to what follows.

use std::time::Duration;

use domain::{
    AttemptId, Timestamp,
    delivery::{
        Answer, Reason, State, Trigger,
        endpoint::Gate,
        schedule::{self, Next},
    },
};
use journal::{
    cancels::Void,
    frames::Frames,
    record::{Attempted, EndpointNoticed, Job, OutcomeRecord},
    work::Task,
};
use metrics::{counter, gauge, histogram};

use super::{
    Worker,
    board::Slot,
    elsewhere::{Ended, Shut},
    parcel::Item,
};
use crate::{
    chance,
    deliveries::{failure::Failure, send::Sent},
    error_chain::chain,
    events::own::Unrecorded,
    snapshots::{Learned, Target},
    telemetry::metrics as names,
};

/// What becomes of a delivery that is not sent, because something changed since it was admitted.
enum Instead {
    /// A later round of it is under way, which says where it stands.
    Forget,
    End(State, Reason),
    /// Its rule goes elsewhere now.
    Move,
    /// Its endpoint is shut, for everything that waits for it.
    Clear(Shut),
}

impl Worker {
    /// Sends what has a slot, unless something changed since it was admitted.
    pub(super) fn start(&self, slot: Slot) {
        let Some(instead) = self.instead(&slot.item) else {
            slot.item.parcel.touch();
            let worker = self.clone();
            self.0.busy.spawn(async move {
                gauge!(names::DELIVERIES_IN_FLIGHT).increment(1.0);
                worker.attempt(slot).await;
                gauge!(names::DELIVERIES_IN_FLIGHT).decrement(1.0);
            });
            return;
        };
        let Slot { item, kind } = slot;
        self.0.board.free(&item, kind, None);
        match instead {
            Instead::Forget => self.forget(item),
            Instead::End(state, reason) => {
                let job = item.job;
                self.end(item.parcel, vec![Ended { job, state, reason }]);
            }
            Instead::Move => self.put(item.parcel, vec![item.job], None),
            Instead::Clear(shut) => self.clear(item, shut),
        }
    }

    fn instead(&self, item: &Item) -> Option<Instead> {
        let (job, now) = (&item.job, self.clock.now());
        if self.cancels.of(job) == Some(Void::Superseded) {
            return Some(Instead::Forget);
        }
        let target = self.targets.of(job.matched.rule);
        if let Some((state, reason)) = self.end_of(job, target.as_ref()) {
            return Some(Instead::End(state, reason));
        }
        if let Some(Target::Url(url)) = &target
            && **url != *job.matched.url
        {
            return Some(Instead::Move);
        }
        match self.gate(item.parcel.endpoint, now) {
            Gate::Open => None,
            Gate::Probe
            | Gate::Shut {
                reason: Reason::Breaker,
                ..
            } if item.is_probe => None,
            Gate::Probe => Some(Instead::Clear((Reason::Breaker, Some(now)))),
            Gate::Shut { reason, until } => Some(Instead::Clear((reason, until))),
        }
    }

    /// Nothing is put on record of it.
    fn forget(&self, item: Item) {
        let worker = self.clone();
        self.0.busy.spawn(async move {
            worker.done(&item.parcel, 1, Ok(())).await;
            let delivery = item.job.matched.delivery;
            worker.0.board.let_go(std::iter::once(delivery));
        });
    }

    async fn attempt(&self, slot: Slot) {
        let (item, started_at) = (slot.item, self.clock.now());
        let sent = self.sender.send(&item.job, started_at).await;
        let finished_at = self.clock.now();
        let answer = sent.answer();
        let trips = self
            .0
            .board
            .free(&item, slot.kind, Some((&answer, finished_at)));
        count(&item.job, &sent, started_at, finished_at);
        let learned = self.learn(&item.job, &answer, trips, finished_at).await;
        let delivery = item.job.matched.delivery;
        let times = (started_at, finished_at);
        let concluded = self
            .conclude(&item.parcel.task, item.job, sent, times, learned)
            .await;
        self.done(&item.parcel, 1, concluded).await;
        self.0.board.let_go(std::iter::once(delivery));
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
        let learned = self.endpoints.learn(whose, answer, trips, now).await;
        learned.unwrap_or_else(|error| {
            tracing::warn!(error = chain(&error), "an endpoint's state was not noted");
            None
        })
    }

    async fn conclude(
        &self,
        task: &Task,
        job: Job,
        sent: Sent,
        (started_at, finished_at): (Timestamp, Timestamp),
        learned: Option<Learned>,
    ) -> Result<(), journal::Error> {
        let attempt = (job.matched.delivery, job.attempt);
        let next = schedule::next(attempt, job.round(), &sent.answer(), finished_at);
        let next = unless_shut(next, learned.as_ref(), finished_at);
        let attempted = attempted(&job, sent, (started_at, finished_at), next);
        let mut frames = Frames::from_iter([OutcomeRecord::Attempted(Box::new(attempted.clone()))]);
        let noticed = noticed(learned, &attempted);
        for noticed in &noticed {
            frames.push(&OutcomeRecord::Endpoint(Box::new(noticed.clone())));
        }
        let outcomes = self.outcomes.of(job.matched.org);
        outcomes.append_patiently(frames).await?;
        for noticed in &noticed {
            told(self.notices.tell(noticed).await)?;
        }
        let failure = Failure {
            state: attempted.state,
            attempts: attempted.number,
            status: attempted.status,
            error: attempted.error,
            at: finished_at,
        };
        told(self.failures.tell(&job, failure).await)?;
        if let Next::At { due, step } = next {
            let again = Job {
                attempt: job.attempt + 1,
                trigger: Trigger::Retry,
                due_at: due,
                step,
                held: None,
                ..job
            };
            self.journal.deliver_later(Some(task), &again).await?;
        }
        Ok(())
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
            error: Some("It could not be sent for 72 hours.".to_owned()),
            at: now,
        };
        told(self.failures.tell(job, failure).await)
    }
}

/// Nothing is scheduled for an endpoint that only a person opens again.
fn unless_shut(next: Next, learned: Option<&Learned>, now: Timestamp) -> Next {
    let gate = learned.map_or(Gate::Open, |learned| learned.endpoint.gate(now));
    match (next, gate) {
        (Next::At { .. }, Gate::Shut { reason, .. }) if reason.needs_a_person() => {
            Next::Held(reason)
        }
        _ => next,
    }
}

fn attempted(
    job: &Job,
    sent: Sent,
    (started_at, finished_at): (Timestamp, Timestamp),
    next: Next,
) -> Attempted {
    let seconds = |wait: Duration| u32::try_from(wait.as_secs()).unwrap_or(u32::MAX);
    Attempted {
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
            tracing::error!(error = chain(&error), "something is not in the trail");
            Ok(())
        }
        Ok(()) => Ok(()),
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
