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
            if state.is_empty || !is_known && is_new(&state.created, now) {
                suspects.push(bucket);
            } else if !is_known && known.contains_key(bucket.as_str()) {
                let bucket = bucket.as_str();
                tracing::error!(
                    bucket,
                    "the database does not know what was announced here: if it was restored, look at \
                     `watchbell admin announce --dry-run`"
                );
            }
            if !is_known {
                made_anew.push((bucket, state.created));
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

/// Whether a bucket was made just now. Who makes one anew announces everything to it within the minute; an older one that the
/// database has not heard of was announced to by a database that had, and was put back since. A key that it knows and the
/// bucket does not may be one that was revoked meanwhile.
fn is_new(created: &str, now: Timestamp) -> bool {
    const NEW_FOR_MS: i128 = 60 * 60 * 1_000;
    let created_ms = created.parse::<i128>().unwrap_or_default() / 1_000_000;
    i128::from(now.unix_millis()) - created_ms < NEW_FOR_MS
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_new_for_an_hour_and_one_whose_age_is_unknown_is_not() {
        let now = Timestamp::from_unix_millis(1_763_200_000_000);
        let made =
            |ago: Duration| (i128::from(now.minus(ago).unix_millis()) * 1_000_000).to_string();
        assert!(is_new(&made(Duration::ZERO), now));
        assert!(is_new(&made(Duration::from_mins(59)), now));
        assert!(!is_new(&made(Duration::from_mins(61)), now));
        assert!(!is_new("", now));
    }
}
