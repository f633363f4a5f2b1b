//! The life of Redis's data: a restart from a snapshot and a flush begin a new one, in which every
//! admission counts, once.

use std::time::Duration;

use domain::limit::Operation;
use futures::{FutureExt as _, future::poll_immediate};
use redis::Commands as _;
use testkit::{Signal, eventually, own};
use tokio::time::sleep;

use super::{
    quota,
    stage::{DEADLINE, Stage},
};
use crate::{Limits, table::SHARDS};

const SUBJECT: &str = "203.0.113.7";

/// How many of so many requests, one after the other, are admitted.
async fn admitted(node: &Limits, limit: &str, requests: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..requests {
        let answer = node.check(Operation::Login, quota(limit), SUBJECT).await;
        admitted += usize::from(answer.admitted);
    }
    admitted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_restarted_from_an_old_snapshot_admits_nobody_twice() {
    let mut redis = own::redis().expect("Redis starts");
    let mut stage = Stage::on(redis.url());
    let nodes = [
        stage.node_in_real_time().await,
        stage.node_in_real_time().await,
    ];
    assert_eq!(admitted(&nodes[0], "10/60s", 2).await, 2);
    // A server that was not told to save on its own still starts from what it was told to save.
    let () = redis::cmd("SAVE")
        .query(&mut stage.connection)
        .expect("it saves");
    assert_eq!(admitted(&nodes[0], "10/60s", 3).await, 3);
    assert_eq!(admitted(&nodes[1], "10/60s", 10).await, 5);
    redis.kill();
    for node in &nodes {
        eventually(DEADLINE, "Redis is away", async || !node.is_shared()).await;
    }
    redis.restart().expect("Redis starts again");
    stage.reconnect();
    assert!(stage.keys() > 0, "it starts from the snapshot");
    for node in &nodes {
        eventually(DEADLINE, "Redis is here", async || node.is_shared()).await;
    }
    let fresh = stage.node_in_real_time().await;
    assert_eq!(admitted(&fresh, "10/60s", 10).await, 0, "all ten are known");
    // Ten, and neither the two of the snapshot nor any other once more.
    let key = stage.key(SUBJECT, Operation::Login);
    let counted: usize = stage.connection.llen(&key).expect("Redis answers");
    assert_eq!(counted, 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_admitted_between_a_flush_and_the_next_beat_counts_once() {
    const REQUESTS: usize = 60;
    let mut stage = Stage::own();
    let node = stage.node_in_real_time().await;
    let () = redis::cmd("FLUSHALL")
        .query(&mut stage.connection)
        .expect("Redis answers");
    assert_eq!(admitted(&node, "100/60s", REQUESTS).await, REQUESTS);
    eventually(DEADLINE, "there is a new epoch", async || stage.epoch()).await;
    let key = stage.key(SUBJECT, Operation::Login);
    let mut counted = || -> usize { stage.connection.llen(&key).expect("Redis answers") };
    eventually(DEADLINE, "Redis is told all of them", async || {
        counted() >= REQUESTS
    })
    .await;
    // waits for: two more beats, after which Redis has been told whatever it will be told
    sleep(Duration::from_millis(2_200)).await;
    assert_eq!(counted(), REQUESTS);
    let answer = node
        .check(Operation::Login, quota("100/60s"), SUBJECT)
        .await;
    assert_eq!(answer.remaining, 39, "and it goes on from there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_starts_again_and_again_does_not_make_nodes_forget_each_other() {
    let mut redis = own::redis().expect("Redis starts");
    let mut stage = Stage::on(redis.url());
    let mut nodes = Vec::new();
    for _ in 0..3 {
        nodes.push(stage.node_in_real_time().await);
    }
    for node in &nodes {
        eventually(DEADLINE, "it knows of all", async || node.nodes() == 3).await;
    }
    for _ in 0..2 {
        redis.kill();
        for node in &nodes {
            eventually(DEADLINE, "Redis is away", async || !node.is_shared()).await;
        }
        redis.restart().expect("Redis starts again, empty");
        // Each connects at its own time, and the first finds nobody else there.
        for node in &nodes {
            eventually(DEADLINE, "Redis is here", async || node.is_shared()).await;
            assert_eq!(node.nodes(), 3, "its share is still a third");
        }
        let known: Vec<usize> = nodes.iter().map(Limits::nodes).collect();
        assert_eq!(known, [3, 3, 3]);
    }
}

/// Whether Redis is owed something.
fn owes(node: &Limits) -> bool {
    let mut shards = 0..SHARDS;
    shards.any(|shard| node.inner.table.take_note(shard))
}

#[tokio::test]
async fn what_was_decided_in_lost_data_is_owed_to_the_new() {
    let mut stage = Stage::shared();
    let node = stage.node().await;
    let link = node.inner.link.as_ref().expect("it has one");
    let limit = quota("5/60s");
    let mut check = node.check(Operation::Login, limit, SUBJECT).boxed();
    assert_eq!(poll_immediate(&mut check).await, None);
    link.begin_epoch();
    assert!(check.await.admitted, "by the data that are lost");
    assert!(owes(&node));
}

#[tokio::test]
async fn what_is_late_in_lost_data_is_owed_to_the_new() {
    let mut redis = own::redis().expect("Redis starts");
    let mut stage = Stage::on(redis.url());
    let node = stage.node_in_a_hurry().await;
    let link = node.inner.link.as_ref().expect("it has one");
    let limit = quota("5/60s");
    redis.signal(Signal::Stop);
    let mut check = node.check(Operation::Login, limit, SUBJECT).boxed();
    assert_eq!(poll_immediate(&mut check).await, None);
    link.begin_epoch();
    assert!(check.await.admitted, "by memory");
    assert!(owes(&node));
    assert!(link.lock_late().is_empty(), "its answer does not matter");
    redis.signal(Signal::Continue);
}
