//! A node that is too busy to wait for Redis counts each request once all the same.

use std::time::Duration;

use domain::limit::{Operation, Quota};
use redis::Commands as _;
use testkit::eventually;
use tokio::time::sleep;

use super::stage::{DEADLINE, Stage, admit_alone};

#[tokio::test]
async fn a_call_whose_answer_is_late_counts_once() {
    const REQUESTS: usize = 60;
    let mut stage = Stage::shared();
    let node = stage.node_that_never_waits().await;
    let quota: Quota = "1000/1h".parse().expect("a quota");
    for _ in 0..REQUESTS {
        let answer = node.check(Operation::Ingest, quota, "busy").await;
        assert!(answer.admitted);
        tokio::task::yield_now().await;
    }
    let key = stage.key("busy", Operation::Ingest);
    let mut counted = || -> usize { stage.connection.llen(&key).expect("Redis answers") };
    eventually(DEADLINE, "Redis has heard of all", async || {
        counted() >= REQUESTS
    })
    .await;
    // waits for: two more beats, after which Redis has been told whatever it will be told
    sleep(Duration::from_millis(2_500)).await;
    assert_eq!(counted(), REQUESTS);
}

#[tokio::test]
async fn a_node_that_stops_tells_redis_what_it_has_not_heard() {
    let mut stage = Stage::shared();
    let node = stage.node_that_never_waits().await;
    let quota: Quota = "100/60s".parse().expect("a quota");
    for _ in 0..2 {
        let answer = node.check(Operation::Ingest, quota, "leaving").await;
        assert!(answer.admitted);
    }
    admit_alone(&node, "leaving");
    stage.stop().await;
    let key = stage.key("leaving", Operation::Ingest);
    let counted: usize = stage.connection.llen(&key).expect("Redis answers");
    assert_eq!(counted, 3);
}
