//! Fresh reads: a list first waits until what the journal had acknowledged is in the store.

use std::time::Duration;

use journal::{Journal, streams::Log};
use runtime::error_chain::chain;
use store::{Store, watermark::Source};
use tokio::time::{Instant, sleep};

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
            tracing::warn!(
                error = chain(&error),
                "this read may be stale: the journal did not report its state"
            );
            return Ok(false);
        }
    };
    let source = source(journal, log, state.created);
    let end = state.last_sequence;
    let deadline = Instant::now() + WAIT_MAX;
    let mut pause = PAUSE_MIN;
    while !has_reached(journal, log, end, store.watermark(&source).await?).await {
        if Instant::now() > deadline {
            return Ok(false);
        }
        if pause == PAUSE_MIN {
            journal.wake(log, end).await;
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
    Ok(true)
}

/// Whether what is applied is the log up to `end`. More than that is believed only if the log has grown
/// so far meanwhile: if not, the journal was put back to an earlier state, and all is applied again.
async fn has_reached(journal: &Journal, log: Log, end: u64, applied: u64) -> bool {
    if applied <= end {
        return applied == end;
    }
    let state = journal.log_state(log).await;
    state.is_ok_and(|state| applied <= state.last_sequence)
}

/// A log as the store knows it.
pub(crate) fn source(journal: &Journal, log: Log, created: String) -> Source {
    Source {
        stream: journal.log_name(log),
        created,
    }
}
