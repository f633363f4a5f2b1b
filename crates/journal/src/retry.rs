//! Asks again within a deadline. A NATS cluster finds a new leader 4 to 9 seconds after the last word of the one
//! before, and nobody answers what was asked in between.

use std::time::Duration;

use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::time::{Instant, sleep, timeout_at};

use crate::Error;

/// A client that waits 10 s is answered, and the last try is made when there is a leader again.
pub(crate) const CLIENT_PATIENCE: Duration = Duration::from_millis(9_500);
/// After how long without an answer it is asked again. The tries before are still listened to: they may only be slow.
const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The pause after a try that failed.
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
    let mut error = Error::timed_out(doing);
    let mut tries = FuturesUnordered::new();
    let answer = async {
        loop {
            tries.push(try_once());
            let again = Instant::now() + TRY_AGAIN_AFTER;
            match timeout_at(again, tries.next()).await {
                Ok(Some(Err(failed @ Error::Unavailable { .. }))) => {
                    tracing::debug!(doing, error = %failed, "trying again");
                    error = failed;
                    sleep(TRY_PAUSE).await;
                }
                Ok(Some(settled)) => return settled,
                Ok(None) | Err(_) => {}
            }
        }
    };
    match timeout_at(deadline, answer).await {
        Ok(settled) => settled,
        Err(_) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn a_slow_answer_counts_though_it_was_asked_again_meanwhile() {
        let mut tries = 0;
        let answer = persist(CLIENT_PATIENCE, "ask", || {
            tries += 1;
            let number = tries;
            async move {
                if number > 1 {
                    return pending().await;
                }
                sleep(TRY_AGAIN_AFTER * 3 / 2).await;
                Ok(number)
            }
        });
        assert_eq!(answer.await.expect("an answer"), 1);
        assert_eq!(tries, 2);
    }

    #[tokio::test]
    async fn whoever_cannot_be_asked_is_named_when_patience_has_run_out() {
        let patience = TRY_PAUSE * 3;
        let began = Instant::now();
        let answer: Result<(), Error> = persist(patience, "ask", || async {
            Err(Error::unavailable("ask", "nobody is there"))
        })
        .await;
        assert!(answer.expect_err("no answer").to_string().contains("ask"));
        assert!(began.elapsed() >= patience);
    }
}
