//! Dead letters: records that could not be applied are put aside and counted. Once what was wrong is right they are
//! applied ([`crate::redrive`]).

use std::time::Duration;

use domain::Timestamp;
use journal::{Journal, dead_letters::Place};
use runtime::error_chain::chain;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::telemetry::metrics as names;

/// How often the number of dead letters is read; an alarm may be that late.
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// A record that cannot be applied.
#[derive(Debug)]
pub(crate) struct Unfit {
    /// What it is about: an id, or where it stands.
    pub(crate) what: String,
    pub(crate) reason: String,
    /// A message of the log with this record alone.
    pub(crate) message: Vec<u8>,
}

/// Puts a record aside, and raises the alarm.
pub(crate) async fn put(
    journal: &Journal,
    log: &'static str,
    place: &Place,
    at: Timestamp,
    unfit: &Unfit,
) -> Result<(), journal::Error> {
    let Unfit {
        what,
        reason,
        message,
    } = unfit;
    journal.put_dead_letter(place, at, reason, message).await?;
    tracing::error!(
        log,
        record = what,
        sequence = place.sequence,
        reason,
        "a record could not be applied and was set aside; see `watchbell dead-letters list`"
    );
    metrics::counter!(names::DEAD_LETTERS_PUT, "log" => log).increment(1);
    Ok(())
}

/// Shows how many dead letters there are, until stopped.
pub(crate) async fn count(journal: Journal, stopping: CancellationToken) -> anyhow::Result<()> {
    loop {
        match journal.count_dead_letters().await {
            #[expect(
                clippy::cast_precision_loss,
                reason = "there are far fewer than a gauge can tell apart"
            )]
            Ok(letters) => metrics::gauge!(names::DEAD_LETTERS).set(letters as f64),
            Err(error) => tracing::warn!(error = chain(&error), "could not count dead letters"),
        }
        tokio::select! {
            () = sleep(COUNT_EVERY) => {}
            () = stopping.cancelled() => return Ok(()),
        }
    }
}
