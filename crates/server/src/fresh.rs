//! Fresh reads: a list first waits until what the journal had acknowledged is in the store.

use std::time::Duration;

use journal::{Journal, streams::Log};
use store::{Store, watermark::Source};
use tokio::time::{Instant, sleep};

use crate::error_chain::chain;

/// How long a read waits before it answers with what there is and says so.
const WAIT_MAX: Duration = Duration::from_secs(2);
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(40);

/// Waits until the store has applied what `log` held at the time of asking. `false` if that takes
/// too long or the journal cannot say; the store's own failure is an error.
pub(crate) async fn wait(journal: &Journal, store: &Store, log: Log) -> Result<bool, store::Error> {
    let state = match journal.log_state(log).await {
        Ok(state) => state,
        Err(error) => {
            tracing::warn!(error = chain(&error), "a read may be stale");
            return Ok(false);
        }
    };
    let source = source(journal, log, state.created);
    let deadline = Instant::now() + WAIT_MAX;
    let mut pause = PAUSE_MIN;
    while store.watermark(&source).await? < state.last_sequence {
        if Instant::now() > deadline {
            return Ok(false);
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
    Ok(true)
}

/// A log as the store knows it.
pub(crate) fn source(journal: &Journal, log: Log, created: String) -> Source {
    Source {
        stream: journal.log_name(log),
        created,
    }
}
