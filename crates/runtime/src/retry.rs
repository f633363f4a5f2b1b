//! Work that must go on: what fails is tried again, slower each time, until we are asked to stop.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::error_chain::chain;

const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Work that ran this long before it failed was well; the pauses start small again.
const WELL_AFTER: Duration = Duration::from_secs(10);

/// The pauses between tries of one piece of work: `while retries.again(work().await).await {}`.
pub struct Retries {
    what: String,
    stopping: CancellationToken,
    pause: Duration,
    started: Instant,
}

impl Retries {
    pub fn new(what: impl Into<String>, stopping: &CancellationToken) -> Self {
        let (what, stopping) = (what.into(), stopping.clone());
        Self {
            what,
            stopping,
            pause: PAUSE_MIN,
            started: Instant::now(),
        }
    }

    /// Whether to try again, after a pause if the last try failed. Work that returns `Ok` has seen
    /// the stop, or starts over.
    pub async fn again<E: std::error::Error>(&mut self, last: Result<(), E>) -> bool {
        if let Err(error) = last {
            tracing::warn!(
                what = self.what,
                error = chain(&error),
                "failed, trying again"
            );
            if self.started.elapsed() > WELL_AFTER {
                self.pause = PAUSE_MIN;
            }
            tokio::select! {
                () = sleep(self.pause) => {}
                () = self.stopping.cancelled() => {}
            }
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
        self.started = Instant::now();
        !self.stopping.is_cancelled()
    }
}
