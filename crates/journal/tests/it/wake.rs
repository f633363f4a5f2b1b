//! Whoever applies a log hears of those who wait for it.

use futures::FutureExt as _;
use tokio::time::timeout;

use super::{DEADLINE, events_log, journal};

#[tokio::test]
async fn who_waits_for_more_than_is_applied_wakes_whoever_applies_it_and_nobody_else_does() {
    let journal = journal().await;
    let log = events_log(&journal);
    let mut wakes = journal.wakes(log).await.expect("a subscription");
    // In this order they arrive.
    journal.wake(log, 7).await;
    journal.wake(log, 9).await;
    timeout(DEADLINE, wakes.beyond(7))
        .await
        .expect("of the second");
    assert!(wakes.beyond(8).now_or_never().is_some(), "it still waits");
    assert!(wakes.beyond(9).now_or_never().is_none(), "it has all");
}
