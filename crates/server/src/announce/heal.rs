//! Notices a journal that lost what was announced, and announces it again.

use domain::Timestamp;
use journal::streams::Bucket;

use super::{
    Announcer,
    compare::{COMPARED, Cause},
};
use crate::{apply_log::Error, telemetry::metrics as names};

impl Announcer {
    /// Makes streams that are gone, and announces everything again to buckets that were made anew or emptied.
    pub(super) async fn heal(&self, now: Timestamp) -> Result<(), Error> {
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
