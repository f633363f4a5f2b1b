//! Redis goes away while it is asked: who comes then waits for who came before.

use domain::limit::Operation;
use futures::{
    FutureExt as _,
    future::{join_all, poll_immediate},
};

use redis::Commands as _;
use testkit::eventually;

use super::{
    quota,
    stage::{DEADLINE, Stage},
};
use crate::{Limits, redis::Failure};

/// As if calls of other callers had been late.
pub(super) fn goes_away(node: &Limits) {
    let link = node.inner.link.as_ref().expect("it has one");
    let live = link.live().expect("Redis is here");
    for _ in 0..3 {
        link.failed(&live, &Failure::Late);
    }
    assert!(!node.is_shared());
}

#[tokio::test]
async fn who_comes_after_redis_went_away_does_not_overtake_the_call_in_flight() {
    const LIMIT: usize = 50;
    let mut stage = Stage::shared();
    let node = stage.node().await;
    let limit = quota("50/60s");
    let check = || node.check(Operation::Ingest, limit, "key_hot").boxed();
    // One call is in flight, and fifty requests gather for the next.
    let mut before: Vec<_> = (0..=LIMIT).map(|_| check()).collect();
    for one in &mut before {
        assert_eq!(poll_immediate(one).await, None);
    }
    goes_away(&node);
    let mut after: Vec<_> = (0..2 * LIMIT).map(|_| check()).collect();
    let mut admitted = 0;
    let mut waiting = Vec::new();
    for mut one in after.drain(..) {
        match poll_immediate(&mut one).await {
            Some(answer) => admitted += usize::from(answer.admitted),
            None => waiting.push(one),
        }
    }
    waiting.append(&mut before);
    let answers = join_all(waiting).await;
    admitted += answers.iter().filter(|one| one.admitted).count();
    assert_eq!(admitted, LIMIT);
}

#[tokio::test]
async fn without_a_call_in_flight_memory_answers_at_once() {
    let mut stage = Stage::shared();
    let node = stage.node().await;
    goes_away(&node);
    let answer = node
        .check(Operation::Ingest, quota("5/60s"), "key_cold")
        .now_or_never();
    assert!(answer.expect("at once").admitted);
}

#[tokio::test]
async fn more_than_one_call_takes_is_told_in_several() {
    const ALONE: usize = 2_500;
    let mut stage = Stage::shared();
    let node = stage.node().await;
    goes_away(&node);
    for number in 0..ALONE {
        if number % 100 == 0 {
            stage.advance_ms(1);
        }
        let check = node.check(Operation::Decide, quota("5000/60s"), "key_hot");
        assert!(check.now_or_never().expect("at once").admitted);
    }
    eventually(DEADLINE, "Redis is here again", async || node.is_shared()).await;
    let answer = node
        .check(Operation::Decide, quota("5000/60s"), "key_hot")
        .await;
    assert_eq!(answer.remaining as usize, 5_000 - ALONE - 1);
    let key = stage.key("key_hot", Operation::Decide);
    let times: Vec<u64> = stage.connection.lrange(&key, 0, -1).expect("Redis answers");
    assert!(times.is_sorted_by(|newer, older| newer >= older));
}
