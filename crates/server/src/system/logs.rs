//! How far the logs of the journal are applied to the store, and what was put aside.

use domain::Timestamp;
use futures::{StreamExt as _, future::ready, stream};
use journal::{Journal, streams::Log};
use runtime::error_chain::chain;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::ANSWER_TIMEOUT;
use crate::{edge::enums::LogName, fresh_reads, planes::ControlPlane};

/// Dead letters that are shown; `watchbell dead-letters list` has all.
const LETTERS_SHOWN: u64 = 20;

/// How many logs are asked about at once: the database has connections for others too.
const AT_ONCE: usize = 4;

/// A log, and how far it has been applied.
#[derive(Serialize, ToSchema)]
pub struct LogBody {
    /// `events` or `outcomes`.
    #[schema(value_type = LogName, example = "events")]
    log: &'static str,
    partition: u16,
    last_sequence: u64,
    applied_sequence: u64,
    /// Messages that have not been applied yet. Each holds many records.
    behind: u64,
}

/// Records that could not be applied.
#[derive(Serialize, ToSchema)]
pub struct DeadLettersBody {
    count: u64,
    /// Those among the last 20 numbers, newest first; one that was reapplied leaves a gap.
    newest: Vec<DeadLetterBody>,
}

#[derive(Serialize, ToSchema)]
pub struct DeadLetterBody {
    /// Its number in `watchbell dead-letters`.
    number: u64,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The journal stream it came from.
    log: String,
    reason: String,
}

/// Those that the journal and the database tell about in time.
pub(super) async fn states(plane: &ControlPlane) -> Vec<LogBody> {
    let both = |partition| [Log::Events(partition), Log::Outcomes(partition)];
    let logs = plane.journal.partitions().all().flat_map(both);
    let states = stream::iter(logs)
        .map(|log| async move { timeout(ANSWER_TIMEOUT, state(plane, log)).await.ok()? });
    states.buffered(AT_ONCE).filter_map(ready).collect().await
}

async fn state(plane: &ControlPlane, log: Log) -> Option<LogBody> {
    let state = plane.journal.log_state(log).await.ok()?;
    let source = fresh_reads::source(&plane.journal, log, state.created);
    let applied_sequence = plane.store.watermark(&source).await.ok()?;
    let (log, partition) = match log {
        Log::Events(partition) => ("events", partition),
        Log::Outcomes(partition) => ("outcomes", partition),
    };
    Some(LogBody {
        log,
        partition: partition.index(),
        last_sequence: state.last_sequence,
        applied_sequence,
        behind: state.last_sequence.saturating_sub(applied_sequence),
    })
}

/// `None` if the journal does not answer in time.
pub(super) async fn dead_letters(journal: &Journal) -> Option<DeadLettersBody> {
    let asked = timeout(ANSWER_TIMEOUT, journal.newest_dead_letters(LETTERS_SHOWN)).await;
    let (count, letters) = match asked.ok()? {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(error = chain(&error), "could not read dead letters");
            return None;
        }
    };
    let shown = letters.into_iter().rev().map(|one| DeadLetterBody {
        number: one.number,
        at: one.letter.at,
        log: one.letter.log,
        reason: one.letter.reason,
    });
    Some(DeadLettersBody {
        count,
        newest: shown.collect(),
    })
}
