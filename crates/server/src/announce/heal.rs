//! Notices a journal that lost what was announced, and announces it again.

use domain::Timestamp;
use journal::streams::Bucket;

use super::{
    Announcer,
    compare::{COMPARED, Difference, State},
};
use crate::{apply_log::Error, telemetry::metrics as names};

impl Announcer {
    /// Announces everything again to buckets that were made anew or emptied. What only the journal knows is left to an operator:
    /// it may be the database that is older.
    pub(super) async fn heal(&self, now: Timestamp) -> Result<(), Error> {
        let known = self.store.announced_buckets().await?;
        for bucket in COMPARED {
            let state = self.journal.bucket_state(bucket).await?;
            let is_known = known.get(bucket.as_str()) == Some(&state.created);
            if is_known && !state.is_empty {
                continue;
            }
            let is_lost = |one: &Difference| one.state != State::Unknown;
            let found = self.announce_again(&[bucket], now, is_lost).await?;
            if !found.is_empty() {
                say_lost(bucket, found.len());
            }
            if !is_known {
                self.store
                    .bucket_was_announced(bucket.as_str(), &state.created)
                    .await?;
            }
        }
        Ok(())
    }
}

fn say_lost(bucket: Bucket, announced: usize) {
    let bucket = bucket.as_str();
    metrics::counter!(names::ANNOUNCED_AGAIN, "bucket" => bucket).increment(announced as u64);
    tracing::warn!(
        bucket,
        announced,
        "the journal had lost what was announced: announced it again from the database"
    );
}
