//! Redis goes away while it is asked: who comes then waits for who came before.

use domain::limit::Operation;
use futures::{
    FutureExt as _,
    future::{join_all, poll_immediate},
};

use super::{quota, stage::Stage};
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
