//! Tells how full the fullest log of the journal is, so that somebody is rung for before it takes no more.

use std::time::Duration;

use journal::Journal;
use runtime::error_chain::chain;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::telemetry::metrics as names;

const ASK_EVERY: Duration = Duration::from_secs(5);

/// Asks and tells until stopped.
#[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
pub async fn tell(journal: Journal, stopping: CancellationToken) -> anyhow::Result<()> {
    loop {
        match journal.events_size().await {
            Ok(size) => {
                metrics::gauge!(names::JOURNAL_EVENTS_BYTES).set(size.bytes as f64);
                if let Some(most) = size.bytes_max {
                    metrics::gauge!(names::JOURNAL_EVENTS_BYTES_MAX).set(most as f64);
                }
            }
            // Others say loudly that the journal is away.
            Err(error) => {
                tracing::debug!(error = chain(&error), "could not read the journal's size");
            }
        }
        tokio::select! {
            () = sleep(ASK_EVERY) => {}
            () = stopping.cancelled() => return Ok(()),
        }
    }
}
