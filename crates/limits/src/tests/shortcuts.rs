//! The deny cache and coalescing change how often Redis is asked, and nothing else (P11, P12, P14);
//! and whoever is dropped while waiting leaves nobody behind.

use std::time::Duration;

use domain::limit::{Log, Operation, Quota};
use futures::{
    FutureExt as _,
    future::{join_all, poll_immediate},
};
use proptest::{collection::vec, prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use redis::Commands as _;
use tokio::{task::JoinSet, time::timeout};

use super::{quota, stage::Stage};
use crate::{Admission, Limits, coalesce::WANTED_MAX};

const DEADLINE: Duration = Duration::from_secs(20);

/// So many requests at the same time.
async fn burst(node: &Limits, limit: Quota, size: u32) -> Vec<Admission> {
    let checks = (0..size).map(|_| node.check(Operation::Ingest, limit, "key_hot"));
    timeout(DEADLINE, join_all(checks))
        .await
        .expect("nobody waits for ever")
}

/// What each would be told if they asked one after the other, and nobody remembered anything.
fn one_by_one(log: &mut Log, limit: Quota, now_ms: u64, size: u32) -> Vec<Admission> {
    let ask = |_| {
        let verdict = log.decide(limit, now_ms, 1);
        Admission {
            admitted: verdict.granted == 1,
            remaining: verdict.remaining,
            frees_in: verdict.frees_in,
        }
    };
    (0..size).map(ask).collect()
}

#[tokio::test]
async fn decisions_are_those_of_one_call_for_each_request() {
    let mut stage = Stage::own();
    let node = stage.node().await;
    let gap_ms = prop_oneof![0u64..3, 0u64..20_000, Just(59_999), Just(60_000)];
    let traffic = vec((gap_ms, 1u32..30), 100);
    let mut runner = TestRunner::deterministic();
    let mut requests = 0;
    for count in [1, 7, 40] {
        let limit = Quota::new(count, Duration::from_secs(60)).expect("in range");
        let arrivals = traffic.new_tree(&mut runner).expect("traffic").current();
        let mut log = Log::default();
        // Everything before has left the window.
        stage.advance_ms(600_000);
        for (gap_ms, size) in arrivals {
            stage.advance_ms(gap_ms);
            let expected = one_by_one(&mut log, limit, stage.now_ms(), size);
            assert_eq!(burst(&node, limit, size).await, expected);
            requests += u64::from(size);
        }
    }
    let calls = stage.calls();
    println!("{requests} requests, {calls} calls");
    assert!(
        calls * 4 < requests,
        "{calls} calls for {requests} requests"
    );
}

#[tokio::test]
async fn refused_traffic_costs_one_call_for_each_slot_that_frees() {
    let mut stage = Stage::own();
    let node = stage.node().await;
    let ten = quota("10/60s");
    let start_ms = stage.now_ms();
    for number in 0..10 {
        stage.set_ms(start_ms + number * 1_000);
        assert!(burst(&node, ten, 1).await[0].admitted);
    }
    stage.set_ms(start_ms + 9_000);
    let before = stage.calls();
    for now_ms in (start_ms + 9_000..start_ms + 60_000).step_by(500) {
        stage.set_ms(now_ms);
        let answers = burst(&node, ten, 50).await;
        assert!(answers.iter().all(|one| !one.admitted));
        let left = Duration::from_millis(start_ms + 60_000 - now_ms);
        assert!(answers.iter().all(|one| one.frees_in == left));
    }
    assert_eq!(stage.calls() - before, 0);

    let before = stage.calls();
    for number in 0..10 {
        stage.set_ms(start_ms + 60_000 + number * 1_000);
        let answers = burst(&node, ten, 50).await;
        let admitted = answers.iter().filter(|one| one.admitted).count();
        assert_eq!(admitted, 1);
        assert!(answers[0].admitted, "the first to come is the one");
    }
    assert_eq!(stage.calls() - before, 10);
}

#[tokio::test]
async fn a_raised_limit_holds_at_once() {
    let mut stage = Stage::shared();
    let node = stage.node().await;
    assert!(burst(&node, quota("1/60s"), 1).await[0].admitted);
    assert!(!burst(&node, quota("1/60s"), 1).await[0].admitted);
    let answers = burst(&node, quota("3/60s"), 3).await;
    let admitted: Vec<bool> = answers.iter().map(|one| one.admitted).collect();
    assert_eq!(admitted, [true, true, false]);
}

#[tokio::test]
async fn more_than_one_call_may_ask_for_take_turns() {
    let mut stage = Stage::shared();
    let node = stage.node().await;
    let size = 3 * WANTED_MAX;
    let limit = Quota::new(size - 1, Duration::from_secs(60)).expect("in range");
    let answers = burst(&node, limit, size).await;
    let admitted = answers.iter().filter(|one| one.admitted).count();
    assert_eq!(admitted, size as usize - 1);
}

#[tokio::test]
async fn what_is_granted_to_others_outlives_the_request_that_asked() {
    let mut stage = Stage::shared();
    let node = stage.node().await;
    let limit = quota("100/60s");
    let check = || node.check(Operation::Ingest, limit, "key_dropped").boxed();
    let (mut first, mut second, mut third) = (check(), check(), check());
    // The first makes a call; the others gather, and the second makes theirs when it is polled.
    assert_eq!(poll_immediate(&mut first).await, None);
    assert_eq!(poll_immediate(&mut second).await, None);
    assert_eq!(poll_immediate(&mut third).await, None);
    drop(first);
    let key = stage.key("key_dropped", Operation::Ingest);
    let mut counted = || {
        stage
            .connection
            .llen::<_, u32>(&key)
            .expect("Redis answers")
    };
    let calling = async {
        while poll_immediate(&mut second).await.is_none() && counted() < 3 {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, calling)
        .await
        .expect("the second goes on");
    drop(second);
    let answer = timeout(DEADLINE, third).await.expect("the third goes on");
    assert!(answer.admitted);
    // The dropped ones were counted, once each, and nothing was asked for twice.
    assert_eq!((counted(), answer.remaining), (3, 97));
}

#[tokio::test]
async fn a_window_whose_every_request_was_dropped_is_forgotten_too() {
    let mut stage = Stage::shared();
    let node = stage.node().await;
    let check = || {
        node.check(Operation::Ingest, quota("9/60s"), "key_left")
            .boxed()
    };
    let (mut first, mut second) = (check(), check());
    assert_eq!(poll_immediate(&mut first).await, None);
    assert_eq!(poll_immediate(&mut second).await, None);
    sweep_all(&node);
    assert_eq!(node.windows(), 1, "somebody still waits");
    drop((first, second));
    sweep_all(&node);
    assert_eq!(node.windows(), 0);
    let answer = timeout(DEADLINE, check()).await;
    assert!(answer.expect("the next does not wait").admitted);
}

#[tokio::test]
async fn a_lone_request_that_was_dropped_leaves_nothing() {
    let mut stage = Stage::shared();
    let node = stage.node().await;
    let mut check = node
        .check(Operation::Ingest, quota("5/60s"), "key_gone")
        .boxed();
    assert_eq!(poll_immediate(&mut check).await, None);
    drop(check);
    stage.advance_ms(600_000);
    sweep_all(&node);
    assert_eq!(node.windows(), 0);
}

#[tokio::test]
async fn requests_under_two_quotas_that_ask_together_are_each_counted() {
    let mut stage = Stage::shared();
    let node = stage.node().await;
    let check = |limit| node.check(Operation::Ingest, limit, "key_hot").boxed();
    let checks = (0..6).map(|number| check(quota(["3/60s", "5/60s"][number % 2])));
    let answers = timeout(DEADLINE, join_all(checks)).await;
    let answers = answers.expect("nobody waits for ever");
    let admitted = answers.iter().filter(|one| one.admitted).count();
    assert!((3..=5).contains(&admitted), "{admitted} of 3 or 5");
    let key = stage.key("key_hot", Operation::Ingest);
    let counted: usize = stage.connection.llen(&key).expect("Redis answers");
    assert_eq!(counted, admitted);
    let more = burst(&node, quota("5/60s"), 9).await;
    let more = more.iter().filter(|one| one.admitted).count();
    assert_eq!(
        admitted + more,
        5,
        "the refusals of three do not hold for five"
    );
}

fn sweep_all(node: &Limits) {
    for shard in 0..crate::table::SHARDS {
        node.inner.table.sweep(shard, node.inner.clock.now_us());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_requests_at_random_leaves_nobody_waiting() {
    let mut stage = Stage::shared();
    let node = stage.node().await;
    let limit = quota("100000/60s");
    let plan = vec(vec((0u8..4, any::<bool>()), 16), 200);
    let mut runner = TestRunner::deterministic();
    for round in plan.new_tree(&mut runner).expect("a plan").current() {
        let mut tasks = JoinSet::new();
        let mut dropped = Vec::new();
        let mut staying = 0;
        for (yields, stays) in round {
            let node = node.clone();
            let handle = tasks.spawn(async move {
                let answer = node.check(Operation::Decide, limit, "key_dropped").await;
                assert!(answer.admitted);
            });
            if stays {
                staying += 1;
            } else {
                dropped.push(handle);
            }
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
        }
        dropped.iter().for_each(tokio::task::AbortHandle::abort);
        let finished = timeout(DEADLINE, async {
            let mut finished = 0;
            while let Some(ended) = tasks.join_next().await {
                match ended {
                    Ok(()) => finished += 1,
                    Err(error) => assert!(error.is_cancelled(), "{error}"),
                }
            }
            finished
        });
        assert!(finished.await.expect("nobody waits for ever") >= staying);
    }
    let last = timeout(DEADLINE, burst(&node, limit, 3));
    assert!(last.await.expect("the window still works")[2].admitted);
    stage.advance_ms(60_000);
    sweep_all(&node);
    assert_eq!(node.windows(), 0, "nothing is left behind");
}
