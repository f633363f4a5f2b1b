//! Makes exports in the background: takes a job, writes its files, goes on where another stopped.
//!
//! A job's result is a list of files, each complete in itself, so one that was interrupted, by a crash or
//! a restart, goes on after its last complete file, on any node. A file's name in object storage has the
//! lease of who wrote it, so a worker that hung and lost its job cannot overwrite what another wrote.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use archive::{Bucket, Compression, FileWriter, Finished, Format};
use bytes::Bytes;
use domain::{EventId, clock::Clock, event::Filter, partition::Partitions};
use runtime::error_chain::chain;
use store::{
    Store,
    exports::{Claimed, ExportFile, Seen},
};
use tokio::{task::spawn_blocking, time::sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    bundle::{self, BundleFile, Kept, Piece},
    cleanup,
    format::FileFormat,
    plan::{Plan, Range},
    source::{self, Ahead, Source},
};
use crate::{
    jobs::{self, LEASE},
    telemetry::metrics as names,
};

/// Jobs that one node works on at a time; each may keep a core busy.
pub const AT_A_TIME: usize = 2;
/// How often a worker says that it is there, and how far.
const RENEW_EVERY: Duration = Duration::from_secs(1);
/// A job that failed this often, or was lost with its worker, with no file completed in between, is given
/// up.
const TRIES_MAX: u32 = 6;
/// The pause after the first failure; it doubles. The last try is a minute after the first.
const PAUSE: Duration = Duration::from_secs(2);
/// How long files are kept.
const KEPT: Duration = Duration::from_hours(7 * 24);

/// What making exports takes.
#[derive(Clone)]
pub struct Worker {
    pub store: Store,
    pub files: Bucket,
    pub clock: Clock,
    /// Events after which a file ends.
    pub file_events_max: u64,
    pub partitions: Partitions,
    pub(crate) kept: Kept,
}

/// Why a job did not go on.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Source(#[from] source::Error),
    #[error(transparent)]
    Bundle(#[from] bundle::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error("writing stopped")]
    Stopped(#[from] tokio::task::JoinError),
    #[error("all its workers were lost")]
    Deadly,
    #[error("the export request cannot be read: {0}")]
    Unreadable(String),
    /// Canceled, or taken by another.
    #[error("the job no longer belongs to this worker")]
    Lost,
}

impl jobs::Worker for Worker {
    type Job = Claimed;
    const WHAT: &str = "make exports";

    async fn claim(&self, lease: Uuid) -> Result<Option<Claimed>, store::Error> {
        self.store.claim_export(lease, LEASE).await
    }

    async fn take_on(
        &self,
        job: Claimed,
        stopping: &CancellationToken,
    ) -> Result<(), store::Error> {
        tracing::info!(export.id = %job.id, files = job.files, "making an export");
        let seen = Mutex::new(Seen {
            progress: job.below.map_or(0.0, |below| progress(&job, below)),
            events: job.events,
        });
        let made = tokio::select! {
            made = self.make(&job, &seen) => made,
            lost = self.keep(&job, &seen) => Err(lost),
            () = stopping.cancelled() => {
                return self.store.release_job(&job, Duration::ZERO, None).await;
            }
        };
        self.settle(&job, made).await
    }
}

impl Worker {
    /// Writes down how it ended: done, to be tried again, or given up.
    async fn settle(&self, job: &Claimed, made: Result<u64, Error>) -> Result<(), store::Error> {
        let now = self.clock.now();
        let expires_at = now.plus(KEPT);
        match made {
            Ok(events) => {
                self.store
                    .finish_export(job, events, now, expires_at)
                    .await?;
                tracing::info!(export.id = %job.id, events, "made an export");
                Ok(())
            }
            Err(Error::Lost) => {
                tracing::info!(export.id = %job.id, "an export was canceled, or another worker took it over");
                self.clear_if_canceled(job).await
            }
            Err(error) if job.tries < TRIES_MAX => {
                tracing::warn!(error = chain(&error), export.id = %job.id, "an export failed; will retry");
                let pause = jobs::pause(PAUSE, job.tries);
                let told = "A file could not be written or read; retrying.";
                self.store.release_job(job, pause, Some(told)).await
            }
            Err(error) => {
                tracing::error!(error = chain(&error), export.id = %job.id, "gave up on an export");
                let told = "Files could not be written or read after several tries; the operator can find the reason \
                            in Watchbell's log.";
                self.store.fail_export(job, told, now, expires_at).await
            }
        }
    }

    /// What was canceled may have had a file finished after its files were deleted.
    async fn clear_if_canceled(&self, job: &Claimed) -> Result<(), store::Error> {
        let row = self.store.export(job.org, job.id).await?;
        if row.is_none_or(|row| row.state == "canceled") {
            let folder = cleanup::folder(job.org, job.id);
            if let Err(error) = self.files.delete_below(&folder).await {
                tracing::warn!(error = chain(&error), export.id = %job.id, "could not delete the \
                                                                            files of a canceled \
                                                                            export");
            }
        }
        Ok(())
    }

    /// Keeps the lease; returns when the job is not ours any more.
    async fn keep(&self, job: &Claimed, seen: &Mutex<Seen>) -> Error {
        loop {
            sleep(RENEW_EVERY).await;
            let now = *seen.lock().unwrap_or_else(PoisonError::into_inner);
            match self.store.renew_export(job, LEASE, now).await {
                Ok(true) => {}
                Ok(false) => return Error::Lost,
                // The database may be back before the lease runs out; if not, what we write is refused.
                Err(error) => {
                    tracing::warn!(error = chain(&error), export.id = %job.id, "could not renew a lease");
                }
            }
        }
    }

    /// Writes the files that are missing; returns how many events all have.
    async fn make(&self, job: &Claimed, seen: &Mutex<Seen>) -> Result<u64, Error> {
        if job.tries > TRIES_MAX {
            return Err(Error::Deadly);
        }
        let wanted = ExportJob::of(job)?;
        let format = match wanted.format {
            FileFormat::Events(format) => format,
            FileFormat::Bundle => return self.make_bundle(job, &wanted, seen).await,
        };
        let plan = wanted.plan.clone();
        let below = job.below.unwrap_or_else(|| plan.above());
        let source = Source::resume(self.store.clone(), Some(self.files.clone()), plan, below);
        // A file ends between two pieces, so that none is twice as large as it should be.
        let rows_max = u32::try_from(self.file_events_max).unwrap_or(u32::MAX);
        let mut source = Ahead::new(source.in_pieces_of(rows_max));
        let (mut number, mut events) = (job.files, job.events);
        loop {
            let encoding = (format, wanted.compression);
            let file = self.file(job, encoding, (number + 1, events), &mut source, seen);
            let Some((file, below)) = file.await? else {
                return Ok(events);
            };
            number += 1;
            events += file.events;
            let ours = self.store.complete_export_file(job, number, &file, below);
            if !ours.await? {
                return Err(Error::Lost);
            }
        }
    }

    /// Writes the one file that a bundle is. Whoever takes it up begins again, because a checkpoint of now has more.
    async fn make_bundle(
        &self,
        job: &Claimed,
        wanted: &ExportJob,
        seen: &Mutex<Seen>,
    ) -> Result<u64, Error> {
        if job.files > 0 {
            return Ok(job.events);
        }
        bundle::caught_up(&self.store, self.partitions, job.org).await?;
        let of = bundle::Contents {
            org: job.org,
            filter: wanted.plan.filter.clone(),
            compression: wanted.compression,
            now: self.clock.now(),
            kept: self.kept,
        };
        let mut file = BundleFile::begin(&self.store, &self.files, of).await?;
        let extension = FileFormat::Bundle.extension(wanted.compression);
        let object = object(job, 1, &extension);
        let mut upload = self.files.create(&object).await?;
        while let Some(piece) = file.next().await? {
            let (progress, events) = file.progress();
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Seen { progress, events };
            let (bytes, finished) = match piece {
                Piece::Bytes(bytes) => (bytes, None),
                Piece::Last(bytes, finished) => (bytes, Some(finished)),
            };
            upload.write(Bytes::from(bytes)).await?;
            let Some(finished) = finished else {
                continue;
            };
            upload.finish().await?;
            let file = exported(1, object, &extension, finished);
            let ours = self.store.complete_export_file(job, 1, &file, job.without);
            return ours.await?.then_some(file.events).ok_or(Error::Lost);
        }
        Err(bundle::Error::NoCheckpoint.into())
    }

    /// The next file and where it ends; `None` if there is nothing left for it. An export has a file
    /// even if it has no events.
    async fn file(
        &self,
        job: &Claimed,
        (format, compression): (Format, Compression),
        (number, events_before): (u32, u64),
        source: &mut Ahead,
        seen: &Mutex<Seen>,
    ) -> Result<Option<(ExportFile, EventId)>, Error> {
        let mut writer = FileWriter::new(format, compression)?;
        let extension = FileFormat::Events(format).extension(compression);
        let object = object(job, number, &extension);
        let mut upload = None;
        // Of an export without a range, everything is behind any id.
        let mut below = job.without;
        while writer.events() < self.file_events_max {
            let Some(batch) = source.next().await? else {
                break;
            };
            below = batch.below;
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Seen {
                progress: progress(job, below),
                events: events_before + writer.events(),
            };
            if batch.events.is_empty() {
                continue;
            }
            metrics::counter!(names::EVENTS_EXPORTED).increment(batch.events.len() as u64);
            let written = spawn_blocking(move || {
                let bytes = writer.write(batch.events);
                (writer, bytes)
            });
            let (back, bytes) = written.await?;
            writer = back;
            let upload = match &mut upload {
                Some(upload) => upload,
                none => none.insert(self.files.create(&object).await?),
            };
            upload.write(Bytes::from(bytes?)).await?;
        }
        if writer.events() == 0 && number > 1 {
            return Ok(None);
        }
        let mut upload = match upload {
            Some(upload) => upload,
            None => self.files.create(&object).await?,
        };
        let (bytes, finished) = spawn_blocking(move || writer.finish()).await??;
        upload.write(Bytes::from(bytes)).await?;
        upload.finish().await?;
        Ok(Some((
            exported(number, object, &extension, finished),
            below,
        )))
    }
}

/// The name of a job's file in object storage.
fn object(job: &Claimed, number: u32, extension: &str) -> String {
    let folder = cleanup::folder(job.org, job.id);
    let lease = job.lease.simple();
    format!("{folder}/{number:04}-{lease}.{extension}")
}

fn exported(number: u32, object: String, extension: &str, finished: Finished) -> ExportFile {
    ExportFile {
        name: format!("audit-events-{number:04}.{extension}"),
        object,
        events: finished.events,
        bytes: finished.bytes,
        sha256: finished.sha256,
    }
}

fn range(job: &Claimed) -> Option<Range> {
    job.range.map(|(newest, oldest)| Range { newest, oldest })
}

fn progress(job: &Claimed, below: EventId) -> f64 {
    range(job).map_or(1.0, |range| range.progress(below))
}

/// A job, read.
struct ExportJob {
    plan: Plan,
    format: FileFormat,
    compression: Compression,
}

impl ExportJob {
    fn of(job: &Claimed) -> Result<Self, Error> {
        let unreadable = |what: &str| Error::Unreadable(what.to_owned());
        let filter: Filter =
            serde_json::from_str(&job.filter).map_err(|error| unreadable(&error.to_string()))?;
        let format = FileFormat::ALL
            .into_iter()
            .find(|one| one.as_str() == job.format);
        let compression = Compression::ALL
            .into_iter()
            .find(|one| one.as_str() == job.compression);
        Ok(Self {
            plan: Plan {
                org: job.org,
                filter,
                range: range(job),
                without: Some(job.without),
            },
            format: format.ok_or_else(|| unreadable(&job.format))?,
            compression: compression.ok_or_else(|| unreadable(&job.compression))?,
        })
    }
}
