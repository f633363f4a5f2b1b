//! Whether the log has what the trail has.

use std::time::Duration;

use domain::{OrgId, partition::Partitions};
use store::Store;
use tokio::time::{Instant, sleep};

use super::Error;

/// A checkpoint is signed about once a second.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Waits until the log has every leaf that waits for it now.
pub(crate) async fn caught_up(
    store: &Store,
    partitions: Partitions,
    org: OrgId,
) -> Result<(), Error> {
    let partition = partitions.of(org);
    let deadline = Instant::now() + PATIENCE;
    let mut waiting = store.newest_waiting(org, partition, i64::MAX).await?;
    while let Some(newest) = waiting {
        if Instant::now() > deadline {
            return Err(Error::Behind);
        }
        sleep(LOOK_EVERY).await;
        waiting = store.newest_waiting(org, partition, newest).await?;
    }
    Ok(())
}

/// Why the log has nothing new any more, if it has stopped.
pub(crate) async fn is_stopped(store: &Store, org: OrgId) -> Result<Option<String>, store::Error> {
    let log = store.transparency_log(org).await?;
    Ok(log.and_then(|log| log.stopped))
}
