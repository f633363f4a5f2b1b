//! A node whose table is full: Redis still knows every caller by name, and memory lets them share.

use domain::limit::Operation;
use futures::FutureExt as _;

use super::{going::goes_away, quota, stage::Stage};
use crate::{Limits, table::SHARDS};

async fn admitted(node: &Limits, subject: &str, requests: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..requests {
        let answer = node.check(Operation::Login, quota("10/15m"), subject).await;
        admitted += usize::from(answer.admitted);
    }
    admitted
}

#[tokio::test]
async fn a_full_node_and_another_limit_a_caller_together() {
    let mut stage = Stage::shared();
    let (roomy, full) = (
        stage.node_in_real_time().await,
        stage.node_without_room().await,
    );
    assert_eq!(admitted(&roomy, "203.0.113.9", 4).await, 4);
    assert_eq!(admitted(&full, "203.0.113.9", 15).await, 6);
    assert_eq!(admitted(&roomy, "203.0.113.9", 1).await, 0);
}

#[tokio::test]
async fn on_a_full_node_callers_share_nothing_while_redis_is_here() {
    let mut stage = Stage::shared();
    let node = stage.node_without_room().await;
    for number in 0..20 * SHARDS {
        let subject = format!("198.51.100.{number}");
        assert_eq!(admitted(&node, &subject, 1).await, 1, "{subject}");
    }
    assert!(node.windows() <= SHARDS, "{} windows", node.windows());
}

#[tokio::test]
async fn on_a_full_node_callers_share_a_window_while_redis_is_away() {
    let mut stage = Stage::shared();
    let node = stage.node_without_room().await;
    goes_away(&node);
    let mut sum = 0;
    // So many that no shard has fewer than ten by chance.
    for number in 0..60 * SHARDS {
        let subject = format!("198.51.100.{number}");
        let checking = node.check(Operation::Login, quota("10/15m"), &subject);
        // None of these waits, so the link does not come back meanwhile.
        let answer = checking.now_or_never().expect("memory answers at once");
        sum += usize::from(answer.admitted);
    }
    assert_eq!(sum, 10 * SHARDS);
    // And nothing of it is told under any name.
    let unsynced = (0..SHARDS).filter(|shard| node.inner.table.take_note(*shard));
    assert_eq!(unsynced.count(), 0);
}
