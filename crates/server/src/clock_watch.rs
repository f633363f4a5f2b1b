//! Compares this machine's clock with NATS's, so that what matches and what is delivered goes by that one ([`system_clock::JOURNAL`]) and an operator
//! hears of a clock by which receivers refuse what we sign.

use std::time::Duration;

use journal::Journal;
use metrics::gauge;
use runtime::error_chain::chain;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    system_clock::{self, AGREE_WITHIN},
    telemetry::metrics as names,
};

const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Without a reading that is good.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Compares until stopped.
pub(crate) async fn run(journal: Journal, stopping: CancellationToken) -> anyhow::Result<()> {
    let mut agrees = true;
    loop {
        let ahead_ms = compare(&journal).await;
        if let Some(ahead_ms) = ahead_ms {
            let agreed = agrees;
            agrees = Duration::from_millis(ahead_ms.unsigned_abs()) < AGREE_WITHIN;
            if agrees != agreed {
                say(ahead_ms, agrees);
            }
        }
        let pause = ahead_ms.map_or(LOOK_AGAIN_AFTER, |_| LOOK_EVERY);
        tokio::select! {
            () = sleep(pause) => {}
            () = stopping.cancelled() => return Ok(()),
        }
    }
}

/// By how many milliseconds this machine's clock is ahead of NATS's, if that can be told now.
pub(crate) async fn compare(journal: &Journal) -> Option<i64> {
    match journal.read_clock().await {
        Ok(reading) => {
            let ahead_ms = system_clock::note(reading)?;
            gauge!(names::CLOCK_SKEW_SECONDS).set(seconds(ahead_ms));
            Some(ahead_ms)
        }
        // Others say loudly that the journal is away.
        Err(error) => {
            tracing::debug!(error = chain(&error), "could not read NATS's clock");
            None
        }
    }
}

fn say(ahead_ms: i64, agrees: bool) {
    let ahead_s = seconds(ahead_ms);
    if agrees {
        tracing::info!(ahead_s, "this machine's clock agrees with NATS's again");
    } else {
        tracing::error!(
            ahead_s,
            "this machine's clock differs from NATS's; receivers refuse webhooks signed more than 300 s off; check NTP on both"
        );
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a clock that is off by 285,000 years may be off by a little more"
)]
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1e3
}
