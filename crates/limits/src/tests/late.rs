//! A node that is too busy to wait for Redis counts each request once all the same.

use std::time::Duration;

use domain::limit::{Operation, Quota};
use redis::Commands as _;
use testkit::{Signal, eventually, own};
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

#[tokio::test]
async fn what_memory_admits_and_redis_refuses_too_late_counts_after_all() {
    let mut redis = own::redis().expect("Redis starts");
    let mut stage = Stage::on(redis.url());
    let quota: Quota = "5/60s".parse().expect("a quota");
    let (one, other) = (
        stage.node_in_real_time().await,
        stage.node_in_a_hurry().await,
    );
    for _ in 0..5 {
        let answer = one.check(Operation::Ingest, quota, "busy").await;
        assert!(answer.admitted);
    }
    let key = stage.key("busy", Operation::Ingest);
    let mut times = || -> Vec<u64> {
        let list = stage.connection.lrange(&key, 0, -1);
        list.expect("Redis answers")
    };
    let before = times();
    assert_eq!(before.len(), 5);
    redis.signal(Signal::Stop);
    for _ in 0..2 {
        let answer = other.check(Operation::Ingest, quota, "busy").await;
        assert!(answer.admitted, "it has not heard that all five are gone");
    }
    redis.signal(Signal::Continue);
    eventually(DEADLINE, "Redis is told", async || times() != before).await;
    // waits for: two more beats, after which Redis has been told whatever it will be told
    sleep(Duration::from_millis(2_200)).await;
    // The newest five matter: both of these, and three of those before.
    let after = times();
    assert!(after[1] > before[0]);
    assert_eq!(after[2..], before[..3]);
}
