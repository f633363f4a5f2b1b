//! Notices a journal that lost what was announced, and announces it again.

use std::time::{Duration, Instant};

use domain::{Timestamp, clock::Clock};
use journal::{Connection, streams::Bucket};
use runtime::retry::Retries;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::compare::{COMPARED, Cause};
use crate::{announce::Announcer, apply_log::Error, telemetry::metrics as names};

/// How often it is looked whether the connection is another one.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a journal that lost something goes unnoticed, unless it was away meanwhile.
const HEAL_EVERY: Duration = Duration::from_secs(30);

/// Heals the journal whenever it has lost something, until stopped.
pub(crate) async fn heal_until_stopped(
    announcer: Announcer,
    clock: Clock,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    let mut retries = Retries::new("announce again what the journal lost", &stopping);
    // When, and over which connection: a journal that comes back may have lost something.
    let mut healed: Option<(Instant, Connection)> = None;
    loop {
        if let Some(connection) = announcer.journal.connection()
            && healed.is_none_or(|(at, over)| at.elapsed() >= HEAL_EVERY || over != connection)
        {
            let tried = announcer.heal(clock.now()).await;
            healed = tried.is_ok().then(|| (Instant::now(), connection));
            retries.again(tried).await;
        }
        tokio::select! {
            () = sleep(LOOK_EVERY) => {}
            () = stopping.cancelled() => return Ok(()),
        }
    }
}

impl Announcer {
    /// Makes streams that are gone, and announces everything again to buckets that were made anew or emptied.
    async fn heal(&self, now: Timestamp) -> Result<(), Error> {
        if !self.journal.is_whole().await? {
            tracing::error!("streams of the journal are gone: making them anew");
            self.journal.prepare().await?;
        }
        let known = self.store.announced_buckets().await?;
        let (mut suspects, mut made_anew) = (Vec::new(), Vec::new());
        for bucket in COMPARED {
            let state = self.journal.bucket_state(bucket).await?;
            let is_known = known.get(bucket.as_str()) == Some(&state.created);
            if !is_known {
                made_anew.push((bucket, state.created));
            }
            if !is_known || state.is_empty {
                suspects.push(bucket);
            }
        }
        let found = self.announce_again(&suspects, now, Cause::Lost).await?;
        for bucket in suspects {
            let lost = found.iter().filter(|one| one.bucket == bucket.as_str());
            say_lost(bucket, lost.count());
        }
        for (bucket, created) in made_anew {
            self.store
                .bucket_was_announced(bucket.as_str(), &created)
                .await?;
        }
        Ok(())
    }
}

fn say_lost(bucket: Bucket, announced: usize) {
    if announced == 0 {
        return;
    }
    let bucket = bucket.as_str();
    metrics::counter!(names::ANNOUNCED_AGAIN, "bucket" => bucket).increment(announced as u64);
    tracing::warn!(
        bucket,
        announced,
        "the journal had lost what was announced: announced it again from the database"
    );
}
