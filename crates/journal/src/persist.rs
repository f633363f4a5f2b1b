//! Asks again within a deadline: a new leader takes 5 to 7 seconds to be found when one is killed.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::Error;

/// How long one try may take, and the pause before the next.
const TRY_TIMEOUT: Duration = Duration::from_secs(1);
const TRY_PAUSE: Duration = Duration::from_millis(50);

/// Tries until it works or `patience` has run out. What is tried must be harmless to repeat: a try
/// that got no answer may have worked.
pub(crate) async fn persist<T, F>(
    patience: Duration,
    doing: &str,
    mut try_once: impl FnMut() -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let deadline = Instant::now() + patience;
    loop {
        let outcome = timeout(TRY_TIMEOUT, try_once()).await;
        let error = match outcome.unwrap_or_else(|_| Err(Error::timed_out(doing))) {
            Err(error @ Error::Unavailable { .. }) => error,
            settled => return settled,
        };
        if Instant::now() + TRY_PAUSE > deadline {
            return Err(error);
        }
        tracing::debug!(doing, %error, "trying again");
        sleep(TRY_PAUSE).await;
    }
}
