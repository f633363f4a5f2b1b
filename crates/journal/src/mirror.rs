//! Keeps what a bucket of the journal holds in memory, and says how current it is.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use runtime::retry::Retries;

use crate::{Error, Journal, kv::Changes, streams::Bucket};

/// A snapshot that is not current by then is a failure that an operator must see.
const CATCH_UP_MAX: Duration = Duration::from_secs(8);

/// How far a snapshot of a bucket is. Cheap to clone.
#[derive(Clone)]
pub struct Mirror {
    journal: Journal,
    bucket: Bucket,
    /// The sequence of the newest change that was applied.
    applied: Arc<watch::Sender<u64>>,
}

impl Mirror {
    pub fn new(journal: Journal, bucket: Bucket) -> Self {
        Self {
            journal,
            bucket,
            applied: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Returns once everything decided before the call is applied.
    pub async fn catch_up(&self) -> Result<(), Error> {
        let newest = self.journal.newest_change(self.bucket).await?;
        let mut applied = self.applied.subscribe();
        // The sender lives as long as `self`.
        let caught_up = applied.wait_for(|applied| *applied >= newest);
        match timeout(CATCH_UP_MAX, caught_up).await {
            Ok(_) => Ok(()),
            Err(_) => {
                let what = format!("the {}", self.bucket.as_str());
                Err(Error::behind(&what, newest))
            }
        }
    }

    /// Applies every value, then every change, until stopped.
    pub async fn follow<T>(
        &self,
        changes: Changes<T>,
        apply: impl Fn(Vec<T>),
        stopping: CancellationToken,
    ) -> anyhow::Result<()> {
        let nothing_to_do = || {};
        self.follow_revisions(changes, apply, nothing_to_do, stopping)
            .await
    }

    /// The same for values that are compared by their revisions: `begin_anew` is told when the bucket was made anew or put
    /// back to an earlier state, and those that come now count from the beginning again.
    pub async fn follow_revisions<T>(
        &self,
        mut changes: Changes<T>,
        apply: impl Fn(Vec<T>),
        begin_anew: impl Fn(),
        stopping: CancellationToken,
    ) -> anyhow::Result<()> {
        let mut retries = Retries::new(format!("follow {}", self.bucket.as_str()), &stopping);
        let apply_all = async |changes: &mut Changes<T>| -> Result<(), Error> {
            if changes.begin_anew().await? {
                self.applied.send_replace(0);
                begin_anew();
            }
            self.apply_all(changes, &apply, &stopping).await
        };
        while retries.again(apply_all(&mut changes).await).await {}
        Ok(())
    }

    async fn apply_all<T>(
        &self,
        changes: &mut Changes<T>,
        apply: &impl Fn(Vec<T>),
        stopping: &CancellationToken,
    ) -> Result<(), Error> {
        loop {
            tokio::select! {
                changed = changes.next() => {
                    apply(changed?);
                    self.applied.send_replace(changes.position());
                }
                () = stopping.cancelled() => return Ok(()),
            }
        }
    }
}
