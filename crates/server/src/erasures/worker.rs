//! Works on erasures: takes a job, erases page by page, then cleans the archive, and goes on where another stopped.

use std::time::Duration;

use archive::Bucket;
use domain::{
    Day, EventId, Timestamp,
    clock::Clock,
    event::{Source, accept::Arrival},
};
use journal::{
    Journal,
    appenders::Appenders,
    streams::Log,
    system_events::{Unrecorded, record_patiently},
};
use runtime::error_chain::chain;
use store::{
    Store,
    erasures::{ClaimedErasure, ErasurePage},
};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    files,
    search::{Places, Search},
    trail_event::ErasureEvent,
};
use crate::{
    events::archive as archiving,
    exports::source,
    fresh_reads,
    jobs::{self, LEASE},
};

/// How often a worker says that it is there, however long a file of the archive takes.
const KEEP_EVERY: Duration = Duration::from_secs(5);
/// Steps of one job before others have their turn. Finding one and erasing it are two: some 15,000 events.
const STEPS_A_TURN: u32 = 100;
/// A job that failed this often with no page done in between is given up, unless it is in the midst of a page: then the trail
/// may say of its events that they were erased, so they must be.
const TRIES_MAX: u32 = 10;
/// The pause after the first failure; it doubles with each of [`TRIES_MAX`], to some minutes, and is as long ever after.
const PAUSE: Duration = Duration::from_millis(500);
/// The pause while the store is behind the journal.
const BEHIND_PAUSE: Duration = Duration::from_secs(2);

/// What erasing takes. Cheap to clone.
#[derive(Clone)]
pub struct Worker {
    pub store: Store,
    pub journal: Journal,
    pub events: Appenders,
    /// `None`: `files.url` is not set.
    pub files: Option<Bucket>,
    pub clock: Clock,
    /// How long events are kept.
    pub retention: Duration,
}

/// Why a job did not go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error(transparent)]
    Unused(#[from] archiving::Error),
    #[error(transparent)]
    Source(#[from] source::Error),
    #[error("tell the trail of an erasure")]
    Untold(#[from] Unrecorded),
    #[error("some days of the trail are in files, and files.url is not set")]
    NoFiles,
    #[error("{0} was taken from the catalog by somebody else")]
    NotNoted(String),
    #[error("{0} does not have the events that it was written with")]
    NotWhole(String),
    #[error("the job cannot be read: {0}")]
    Unreadable(String),
    /// The event that tells of a page is not in the store yet.
    #[error("the store is behind the journal")]
    Behind,
    #[error("the job no longer belongs to this worker")]
    Lost,
}

impl jobs::Worker for Worker {
    type Job = ClaimedErasure;
    const WHAT: &str = "erase events";

    async fn claim(&self, lease: Uuid) -> Result<Option<ClaimedErasure>, store::Error> {
        self.store.claim_erasure(lease, LEASE).await
    }

    async fn take_on(
        &self,
        mut job: ClaimedErasure,
        stopping: &CancellationToken,
    ) -> Result<(), store::Error> {
        tracing::info!(erasure.id = %job.id, org.id = %job.org, "erasing events");
        let mut search = None;
        let mut steps = 0;
        let outcome = loop {
            let keeping = job.clone();
            let step = tokio::select! {
                step = self.step(&mut job, &mut search) => step,
                lost = self.keep(&keeping) => Err(lost),
                () = stopping.cancelled() => {
                    return self.store.release_job(&keeping, Duration::ZERO, None).await;
                }
            };
            match step {
                Ok(true) => steps += 1,
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
            if steps == STEPS_A_TURN {
                return self.store.release_job(&job, Duration::ZERO, None).await;
            }
        };
        self.settle(&job, outcome).await
    }
}

impl Worker {
    /// Keeps a job for as long as nobody takes it; why it could not.
    async fn keep(&self, job: &ClaimedErasure) -> Error {
        loop {
            sleep(KEEP_EVERY).await;
            match self.store.keep_job(job, LEASE).await {
                Ok(true) => {}
                Ok(false) => return Error::Lost,
                Err(error) => return error.into(),
            }
        }
    }

    /// Does the page that was under way, or the next, or cleans the archive; `false` if that was all.
    async fn step(
        &self,
        job: &mut ClaimedErasure,
        search: &mut Option<Search>,
    ) -> Result<bool, Error> {
        if let Some(page) = job.page.clone() {
            self.erase(job, &page).await?;
            job.page = None;
            job.tries = 1;
            return Ok(true);
        }
        if !job.is_found {
            self.begin(job, search).await?;
            return Ok(true);
        }
        self.clean_archive(job).await?;
        Ok(false)
    }

    /// Finds the next page and writes it down.
    async fn begin(
        &self,
        job: &mut ClaimedErasure,
        search: &mut Option<Search>,
    ) -> Result<(), Error> {
        self.check_fresh(job).await?;
        let places = Places {
            store: self.store.clone(),
            files: self.files.clone(),
        };
        let look = places.look(job, search).await?;
        let (ids_seen, below, is_found) = (look.ids_seen, look.below, look.is_last);
        let now = self.clock.now();
        let begun = self.store.begin_erasure_page(job, look, now, LEASE).await?;
        let page = begun.ok_or(Error::Lost)?;
        job.pages = page.number;
        job.page = Some(page);
        (job.ids_seen, job.below, job.is_found) = (ids_seen, below, is_found);
        Ok(())
    }

    /// Tells the trail of a page, and erases it once that is in the store: then it is before its tombstones in the log.
    async fn erase(&self, job: &ClaimedErasure, page: &ErasurePage) -> Result<(), Error> {
        if page.events.is_empty() {
            return Ok(());
        }
        let tail = job.id.tail_of_page(page.number);
        let by = EventId::with_tail(page.at, tail);
        if self.store.event(job.org, by).await?.is_none() {
            let arrival = self.arrival(job, page.at);
            let event = ErasureEvent::of(job.id, &job.asked_by, &job.reason, &page.events);
            record_patiently(tail, &self.events, &arrival, &event).await?;
            self.check_fresh(job).await?;
            let found = self.store.event(job.org, by).await?;
            found.ok_or(Error::Behind)?;
        }
        let is_ours = self.store.erase_page(job, page, by, LEASE).await?;
        if is_ours { Ok(()) } else { Err(Error::Lost) }
    }

    async fn check_fresh(&self, job: &ClaimedErasure) -> Result<(), Error> {
        let log = Log::Events(self.journal.partitions().of(job.org));
        let is_fresh = fresh_reads::wait(&self.journal, &self.store, log).await?;
        if is_fresh { Ok(()) } else { Err(Error::Behind) }
    }

    fn arrival(&self, job: &ClaimedErasure, at: Timestamp) -> Arrival {
        Arrival {
            org: job.org,
            source: Source::Server,
            received_at: at,
            retention: self.retention,
        }
    }

    /// Takes what was erased out of the archive, day by day.
    async fn clean_archive(&self, job: &ClaimedErasure) -> Result<(), Error> {
        let mut from = EventId::from_uuid(Uuid::nil());
        while let Some(next) = self.store.next_erased(job.org, job.id, from).await? {
            let day = Day::of(next.time());
            match &self.files {
                Some(bucket) => files::clean(&self.store, bucket, job.org, day).await?,
                None if self.store.archived_files(day, day).await?.is_empty() => {}
                None => return Err(Error::NoFiles),
            }
            from = day.next().first_id();
        }
        Ok(())
    }

    async fn settle(
        &self,
        job: &ClaimedErasure,
        outcome: Result<(), Error>,
    ) -> Result<(), store::Error> {
        let now = self.clock.now();
        let error = match outcome {
            Ok(()) => {
                tracing::info!(erasure.id = %job.id, "erased events");
                return self.store.end_job(job, None, now).await;
            }
            Err(Error::Lost) => {
                tracing::info!(erasure.id = %job.id, "another worker took over an erasure");
                return Ok(());
            }
            Err(Error::Behind) => {
                tracing::info!(erasure.id = %job.id, "an erasure is waiting for the store to catch up");
                return self.store.release_job(job, BEHIND_PAUSE, None).await;
            }
            Err(error) => error,
        };
        let may_be_told = job
            .page
            .as_ref()
            .is_some_and(|page| !page.events.is_empty());
        if job.tries >= TRIES_MAX && !may_be_told {
            tracing::error!(error = chain(&error), erasure.id = %job.id, "gave up on an erasure");
            let told = "Not all of it could be erased after several tries; the operator can find the reason in Watchbell's \
                        log. Ask again for what is left.";
            return self.store.end_job(job, Some(told), now).await;
        }
        if job.tries >= TRIES_MAX {
            tracing::error!(error = chain(&error), erasure.id = %job.id, "an erasure cannot go on; will retry");
        } else {
            tracing::warn!(error = chain(&error), erasure.id = %job.id, "an erasure failed; will retry");
        }
        let pause = jobs::pause(PAUSE, job.tries.min(TRIES_MAX));
        let told = "Some of it could not be erased; retrying.";
        self.store.release_job(job, pause, Some(told)).await
    }
}
