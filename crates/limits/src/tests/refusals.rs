//! Redis says no about one key: that key is on its own, and nothing else suffers.

use std::{sync::Arc, time::Duration};

use domain::limit::Operation;
use redis::Commands as _;
use testkit::eventually;
use tokio::time::sleep;

use super::{
    quota,
    stage::{DEADLINE, Stage, admit_alone},
};

/// Makes a caller's key something that is not a list.
fn spoil(stage: &mut Stage, subject: &str) {
    let key = stage.key(subject, Operation::Ingest);
    let () = stage.connection.set(key, "text").expect("Redis answers");
}

#[tokio::test]
async fn a_key_that_redis_refuses_hinders_no_other() {
    const OTHERS: usize = 500;
    let mut stage = Stage::own();
    let node = stage.node_in_real_time().await;
    spoil(&mut stage, "bad");
    admit_alone(&node, "bad");
    for number in 0..OTHERS {
        admit_alone(&node, &format!("good{number}"));
    }
    let mut counted = || -> Vec<usize> {
        let keys = (0..OTHERS).map(|number| stage.key(&format!("good{number}"), Operation::Ingest));
        let keys: Vec<String> = keys.collect();
        let count = |key| stage.connection.llen(key).expect("Redis answers");
        keys.into_iter().map(count).collect()
    };
    eventually(DEADLINE, "Redis is told of all others", async || {
        counted().iter().all(|one| *one > 0)
    })
    .await;
    // waits for: two more beats, in which nobody is told twice
    sleep(Duration::from_millis(2_200)).await;
    assert!(counted().iter().all(|one| *one == 1));
    assert!(node.is_shared());
}

#[tokio::test]
async fn a_key_that_redis_refuses_does_not_keep_it_away() {
    let mut stage = Stage::own();
    let node = stage.node_in_real_time().await;
    spoil(&mut stage, "bad");
    for _ in 0..9 {
        let answer = node.check(Operation::Ingest, quota("5/60s"), "bad").await;
        assert!(answer.remaining < 5);
        assert!(node.is_shared(), "three refusals of one key are no outage");
    }
    let link = node.inner.link.as_ref().expect("it has one");
    let before = link.live().expect("Redis is here");
    let _: i64 = redis::cmd("CLIENT")
        .arg(&["KILL", "TYPE", "normal"])
        .query(&mut stage.connection)
        .expect("Redis answers");
    eventually(DEADLINE, "there is another connection", async || {
        link.live().is_some_and(|live| !Arc::ptr_eq(&live, &before))
    })
    .await;
}

#[tokio::test]
async fn what_a_full_redis_did_not_take_is_told_when_it_has_room() {
    let mut stage = Stage::own();
    let node = stage.node_in_real_time().await;
    let mut set_memory = |bytes: &str| {
        let () = redis::cmd("CONFIG")
            .arg(&["SET", "maxmemory", bytes])
            .query(&mut stage.connection)
            .expect("Redis answers");
    };
    set_memory("1");
    admit_alone(&node, "patient");
    eventually(DEADLINE, "Redis is away", async || !node.is_shared()).await;
    set_memory("0");
    eventually(DEADLINE, "Redis is here again", async || node.is_shared()).await;
    let key = stage.key("patient", Operation::Ingest);
    let counted: usize = stage.connection.llen(key).expect("Redis answers");
    assert_eq!(counted, 1);
}
