//! Works on recoveries: takes a job, sends its deliveries again page by page, goes on where another stopped.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use domain::{
    EventId,
    clock::Clock,
    delivery::{State, Trigger},
    partition::Partition,
};
use futures::{TryStreamExt as _, stream};
use journal::{
    Journal, appenders::Appenders, frames::Frames, record::Job, requeue::OnRecord, streams::Log,
};
use runtime::error_chain::chain;
use store::{
    Store,
    deliveries::Delivery,
    recoveries::{ClaimedRecovery, RecoveryPage},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::super::round;
use crate::{
    fresh_reads,
    jobs::{self, LEASE},
};

/// Deliveries of one page. With their events, which have up to 32 KiB, some megabytes at the most. The records that their
/// rounds begin are one message of the log.
const PAGE_MAX: u32 = 200;
/// The pause between two pages: 2,000 deliveries a second leave room for those of today.
const PAGE_PAUSE: Duration = Duration::from_millis(100);
/// Pages of one job before others have their turn: a job of millions must not keep one of ten waiting for hours.
const PAGES_A_TURN: u32 = 50;
/// Cancellations that are taken back at once: a page of them takes milliseconds, not seconds.
const TAKEN_BACK_AT_ONCE: usize = 16;
/// A job that failed this often, or was lost with its worker, with no page done in between, is given up.
const TRIES_MAX: u32 = 10;
/// The pause after the first failure; it doubles. The last try is some minutes after the first.
const PAUSE: Duration = Duration::from_millis(500);
/// How long one page may take before it has failed: less than the lease.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// What recovering takes. Cheap to clone.
#[derive(Clone)]
pub struct Worker {
    pub store: Store,
    pub journal: Journal,
    pub outcomes: Appenders,
    pub clock: Clock,
}

/// What is to be done about a page.
struct Plan {
    jobs: Vec<Job>,
    /// Its rounds are on record.
    is_begun: bool,
    /// Those of them that need no more.
    over: OnRecord,
}

/// Why a job did not go on.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Journal(#[from] journal::Error),
    #[error("a page took too long")]
    Slow,
    /// What became of a page that was done before is not known yet, or an event of it.
    #[error("the store is behind the journal")]
    Behind,
    #[error("the rule was deleted")]
    RuleDeleted,
    /// Canceled, or taken by another.
    #[error("the job no longer belongs to this worker")]
    Lost,
}

impl jobs::Worker for Worker {
    type Job = ClaimedRecovery;
    const WHAT: &str = "recover deliveries";

    async fn claim(&self, lease: Uuid) -> Result<Option<ClaimedRecovery>, store::Error> {
        self.store.claim_recovery(lease, LEASE).await
    }

    async fn take_on(
        &self,
        mut job: ClaimedRecovery,
        stopping: &CancellationToken,
    ) -> Result<(), store::Error> {
        tracing::info!(recovery.id = %job.id, "recovering deliveries");
        let mut pages = 0;
        let outcome = loop {
            match tokio::time::timeout(PAGE_TIMEOUT, self.turn_page(&mut job)).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => break Ok(()),
                Ok(Err(error)) => break Err(error),
                Err(_) => break Err(Error::Slow),
            }
            pages += 1;
            if pages == PAGES_A_TURN {
                return self.store.release_job(&job, Duration::ZERO, None).await;
            }
            tokio::select! {
                () = sleep(PAGE_PAUSE) => {}
                () = stopping.cancelled() => {
                    return self.store.release_job(&job, Duration::ZERO, None).await;
                }
            }
        };
        self.settle(&job, outcome).await
    }
}

impl Worker {
    async fn settle(
        &self,
        job: &ClaimedRecovery,
        outcome: Result<(), Error>,
    ) -> Result<(), store::Error> {
        let now = self.clock.now();
        let error = match outcome {
            Ok(()) => {
                tracing::info!(recovery.id = %job.id, "recovered deliveries");
                return self.store.end_job(job, None, now).await;
            }
            Err(Error::Lost) => {
                tracing::info!(recovery.id = %job.id, "a recovery was canceled, or another worker took it over");
                return Ok(());
            }
            Err(Error::Behind) => {
                tracing::info!(recovery.id = %job.id, "a recovery is waiting for the store to \
                                                       catch up");
                return self.store.release_job(job, PAUSE, None).await;
            }
            Err(Error::RuleDeleted) => {
                let told = "The rule was deleted in the meantime, so there is nowhere to send the \
                            rest.";
                return self.store.end_job(job, Some(told), now).await;
            }
            Err(error) => error,
        };
        if job.tries >= TRIES_MAX {
            tracing::error!(error = chain(&error), recovery.id = %job.id, "gave up on a recovery");
            let told = "Deliveries could not be queued after several tries; the operator can find the reason in \
                        Watchbell's log.";
            return self.store.end_job(job, Some(told), now).await;
        }
        tracing::warn!(error = chain(&error), recovery.id = %job.id, "a recovery failed; will retry");
        let pause = jobs::pause(PAUSE, job.tries);
        let told = "Deliveries could not be queued; retrying.";
        self.store.release_job(job, pause, Some(told)).await
    }

    /// Does the page that was under way, or the next; `false` if there is none.
    async fn turn_page(&self, job: &mut ClaimedRecovery) -> Result<bool, Error> {
        let before = job.page.take();
        let is_repeated = before.is_some();
        let page = match before {
            Some(page) => page,
            None => {
                let begun = self
                    .store
                    .begin_recovery_page(job, PAGE_MAX, self.clock.now());
                begun.await?.ok_or(Error::Lost)?
            }
        };
        let Some(last) = page.deliveries.last().copied() else {
            return Ok(false);
        };
        if is_repeated && !self.is_fresh(job, Log::Outcomes).await? {
            return Err(Error::Behind);
        }
        let plan = self.plan(job, &page, is_repeated).await?;
        let skipped = page.deliveries.len() - plan.jobs.len();
        self.send(job, plan).await?;
        let is_ours = self
            .store
            .finish_recovery_page(job, &page, skipped as u64, LEASE)
            .await?;
        job.after = last;
        job.tries = 1;
        if is_ours { Ok(true) } else { Err(Error::Lost) }
    }

    /// Whether the store has what was acknowledged before.
    async fn is_fresh(
        &self,
        job: &ClaimedRecovery,
        log: fn(Partition) -> Log,
    ) -> Result<bool, store::Error> {
        let log = log(self.journal.partitions().of(job.org));
        fresh_reads::wait(&self.journal, &self.store, log).await
    }

    /// The events of deliveries. One that is not there may have been acknowledged a moment ago, so its log is applied first.
    async fn events_of(
        &self,
        job: &ClaimedRecovery,
        deliveries: &[Delivery],
    ) -> Result<HashMap<EventId, String>, Error> {
        let ids: HashSet<EventId> = deliveries.iter().map(|delivery| delivery.event).collect();
        let ids: Vec<EventId> = ids.into_iter().collect();
        let mut events = self.store.events(job.org, &ids).await?;
        if events.len() < ids.len() {
            if !self.is_fresh(job, Log::Events).await? {
                return Err(Error::Behind);
            }
            events = self.store.events(job.org, &ids).await?;
        }
        let events = events.into_iter().map(|event| (event.id, event.json));
        Ok(events.collect())
    }

    /// What of a page is sent again. If its rounds are on record, somebody may have queued it: then just those that have
    /// begun, also if they are over, because only all of them together make the same messages again.
    async fn plan(
        &self,
        job: &ClaimedRecovery,
        page: &RecoveryPage,
        is_repeated: bool,
    ) -> Result<Plan, Error> {
        let seen_over = self.journal.connection();
        let rule = self.store.rule(job.org, job.wanted.rule).await?;
        let rule = rule.ok_or(Error::RuleDeleted)?.rule;
        let mut deliveries = self.store.deliveries(job.org, &page.deliveries).await?;
        let round = |delivery: &Delivery| delivery.round.map(|round| round.at);
        let is_begun = is_repeated && deliveries.iter().any(|it| round(it) == Some(page.at));
        // Of some a later round may have begun since.
        deliveries.retain(|delivery| {
            if is_begun {
                round(delivery) >= Some(page.at)
            } else {
                job.wanted.states.contains(&delivery.state)
            }
        });
        let over = deliveries.iter();
        let over = over.filter(|delivery| is_begun && is_over(delivery, page));
        let over = OnRecord {
            deliveries: over.map(|delivery| delivery.id).collect(),
            seen_over,
        };
        let events = self.events_of(job, &deliveries).await?;
        let made = deliveries.into_iter().filter_map(|delivery| {
            let json = events.get(&delivery.event)?.clone();
            Some(round::job(delivery, &rule, json, Trigger::Recover, page.at))
        });
        Ok(Plan {
            jobs: made.collect(),
            is_begun,
            over,
        })
    }

    /// Puts the rounds of a page on record and queues them.
    async fn send(&self, job: &ClaimedRecovery, mut plan: Plan) -> Result<(), Error> {
        if plan.jobs.is_empty() {
            return Ok(());
        }
        let voids = [State::Canceled, State::Pending, State::Scheduled].map(State::as_str);
        if job
            .wanted
            .states
            .iter()
            .any(|state| voids.contains(&state.as_str()))
        {
            self.void_earlier_rounds(&mut plan).await?;
        }
        if !plan.is_begun {
            let records = plan.jobs.iter().map(round::begins);
            let appender = self.outcomes.of(job.org);
            appender
                .append_patiently(records.collect::<Frames>())
                .await?;
        }
        let now = self.clock.now();
        self.journal
            .deliver_again(plan.jobs, &plan.over, now)
            .await?;
        Ok(())
    }

    /// Makes known that what was canceled is wanted again, and that what the queue may have after all is void; not of what is
    /// over, which may have been canceled since.
    async fn void_earlier_rounds(&self, plan: &mut Plan) -> Result<(), Error> {
        let over = &plan.over.deliveries;
        let wanted = plan.jobs.iter_mut();
        let wanted: Vec<&mut Job> = wanted
            .filter(|job| !over.contains(&job.matched.delivery))
            .collect();
        stream::iter(wanted.into_iter().map(Ok))
            .try_for_each_concurrent(TAKEN_BACK_AT_ONCE, async |job| {
                let begins = self.journal.want_again(job.matched.delivery, job.since);
                job.since = begins.await?;
                Ok(())
            })
            .await
    }
}

/// Whether a delivery whose round began with a page needs no more: a worker had it, somebody canceled it, or it is in
/// another round since.
fn is_over(delivery: &Delivery, page: &RecoveryPage) -> bool {
    let is_later = delivery.round.is_some_and(|round| round.at > page.at);
    is_later || delivery.was_attempted() || delivery.state != State::Pending.as_str()
}
