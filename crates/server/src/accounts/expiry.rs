//! Removes links, invitations and sessions that have run out. Nothing looks at them any more; this
//! only keeps the tables small.

use std::time::Duration;

use domain::clock::Clock;
use runtime::error_chain::chain;
use store::Store;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Rows wait at most this long after their time; they are few and small.
const EVERY: Duration = Duration::from_mins(15);

pub async fn run(store: Store, clock: Clock, stopping: CancellationToken) -> anyhow::Result<()> {
    loop {
        match store.forget_what_ran_out(clock.now()).await {
            Ok(rows) => tracing::debug!(rows, "removed what had expired"),
            Err(error) => tracing::warn!(
                error = chain(&error),
                "could not remove what has expired; will retry later"
            ),
        }
        tokio::select! {
            () = sleep(EVERY) => {}
            () = stopping.cancelled() => return Ok(()),
        }
    }
}
