//! Tells how many logs have stopped, for as long as they have, so that somebody is rung for until they go on.

use std::time::Duration;

use runtime::error_chain::chain;
use store::Store;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::telemetry::metrics as names;

const LOOK_EVERY: Duration = Duration::from_secs(15);
/// More than these are told as these.
const TOLD_MAX: u32 = 1_000;

/// Looks and tells until stopped.
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
pub(crate) async fn tell(store: Store, stopping: CancellationToken) -> anyhow::Result<()> {
    loop {
        match store.stopped_transparency_logs(TOLD_MAX).await {
            Ok(logs) => {
                metrics::gauge!(names::TRANSPARENCY_LOGS_STOPPED).set(logs.len() as f64);
            }
            // Others say loudly that the database is away.
            Err(error) => {
                tracing::debug!(error = chain(&error), "could not look for stopped logs");
            }
        }
        tokio::select! {
            () = sleep(LOOK_EVERY) => {}
            () = stopping.cancelled() => return Ok(()),
        }
    }
}
