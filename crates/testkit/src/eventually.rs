//! Waiting for something to become true, with a deadline.

use std::fmt::Debug;
use std::panic::Location;
use std::time::Duration;

use crate::stopwatch::Stopwatch;

/// Most conditions come true within milliseconds; the pause doubles up to the longest, so that a
/// long wait costs little.
const PAUSE_MIN: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// What a probe may answer: `true`, `Some(value)` or `Ok(value)` end the wait; `Err(seen)` is shown
/// when time runs out.
pub trait Answer {
    type Value;
    fn settle(self) -> Result<Self::Value, String>;
}

impl Answer for bool {
    type Value = ();

    fn settle(self) -> Result<(), String> {
        self.then_some(()).ok_or_else(|| "it is not so".to_owned())
    }
}

impl<T> Answer for Option<T> {
    type Value = T;

    fn settle(self) -> Result<T, String> {
        self.ok_or_else(|| "there is none".to_owned())
    }
}

impl<T, E: Debug> Answer for Result<T, E> {
    type Value = T;

    fn settle(self) -> Result<T, String> {
        self.map_err(|seen| format!("{seen:?}"))
    }
}

/// Asks `probe` again and again until it says yes, and panics with `what` and its last answer when
/// it has not within `deadline`. A probe that does not return counts as no.
///
/// ```ignore
/// let delivery = eventually(seconds(5), "the delivery is recorded", async || {
///     store.delivery(id).await.ok().flatten()
/// })
/// .await;
/// ```
#[track_caller]
pub fn eventually<A: Answer>(
    deadline: Duration,
    what: &str,
    mut probe: impl AsyncFnMut() -> A,
) -> impl Future<Output = A::Value> {
    let asked_at = Location::caller();
    let started = Stopwatch::start();
    async move {
        let mut pause = PAUSE_MIN;
        let mut last_seen = "nothing yet".to_owned();
        loop {
            let left = deadline.saturating_sub(started.elapsed());
            // Without an answer in time, the one before is what was seen last.
            if let Ok(answer) = tokio::time::timeout(left, probe()).await {
                match answer.settle() {
                    Ok(value) => return value,
                    Err(seen) => last_seen = seen,
                }
            }
            if started.elapsed() >= deadline {
                give_up(deadline, what, &last_seen, asked_at);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// [`eventually`] for tests that are not asynchronous.
#[track_caller]
pub fn eventually_blocking<A: Answer>(
    deadline: Duration,
    what: &str,
    mut probe: impl FnMut() -> A,
) -> A::Value {
    let started = Stopwatch::start();
    let mut pause = PAUSE_MIN;
    loop {
        match probe().settle() {
            Ok(value) => return value,
            Err(seen) if started.elapsed() >= deadline => {
                give_up(deadline, what, &seen, Location::caller());
            }
            Err(_) => {}
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn give_up(deadline: Duration, what: &str, last_seen: &str, asked_at: &Location<'_>) -> ! {
    panic!("not within {deadline:?}: {what}; last seen: {last_seen} (asked at {asked_at})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_returns_the_first_yes() {
        let mut asked = 0;
        let value = eventually(Duration::from_secs(5), "the third time", async || {
            asked += 1;
            (asked == 3).then_some(asked)
        })
        .await;
        assert_eq!(value, 3);
    }

    #[tokio::test]
    #[should_panic(expected = "the moon is full; last seen: \"half\"")]
    async fn it_says_what_was_awaited_and_what_was_seen() {
        let probe = async || Err::<(), _>("half");
        eventually(Duration::from_millis(20), "the moon is full", probe).await;
    }

    #[tokio::test]
    #[should_panic(expected = "an answer; last seen: nothing yet")]
    async fn a_probe_that_hangs_does_not_hang_the_test() {
        let probe = async || std::future::pending::<bool>().await;
        eventually(Duration::from_millis(20), "an answer", probe).await;
    }

    #[test]
    #[should_panic(expected = "patience; last seen: it is not so")]
    fn the_blocking_twin_gives_up_too() {
        eventually_blocking(Duration::from_millis(20), "patience", || false);
    }
}
