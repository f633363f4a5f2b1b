//! Several nodes over one Redis count as one (P1, P3, P7).

use std::time::{Duration, Instant};

use domain::limit::{Log, Operation};
use futures::future::{join, join_all};
use proptest::{collection::vec, prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use tokio::task::JoinSet;

use super::{quota, stage::Stage};
use crate::Limits;

const SUBJECT: &str = "203.0.113.7";

async fn three_nodes(stage: &mut Stage) -> [Limits; 3] {
    [stage.node().await, stage.node().await, stage.node().await]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_together_admit_exactly_what_one_log_would() {
    let mut stage = Stage::shared();
    let nodes = three_nodes(&mut stage).await;
    let twenty = quota("20/60s");
    let gap_ms = prop_oneof![0u64..3, 0u64..15_000, Just(59_999), Just(60_000)];
    let plan = vec((gap_ms, [0u32..12, 0u32..12, 0u32..12]), 120);
    let plan = plan
        .new_tree(&mut TestRunner::deterministic())
        .expect("a plan");
    let mut log = Log::default();
    for (gap_ms, sizes) in plan.current() {
        stage.advance_ms(gap_ms);
        let bursts = nodes.iter().zip(sizes).map(|(node, size)| {
            let checks = (0..size).map(|_| node.check(Operation::Login, twenty, SUBJECT));
            join_all(checks)
        });
        let answers = join_all(bursts).await.concat();
        let admitted = answers.iter().filter(|one| one.admitted).count();
        let wanted = sizes.iter().sum();
        let expected = log.decide(twenty, stage.now_ms(), wanted).granted;
        assert_eq!(
            admitted,
            expected as usize,
            "of {wanted} at {}",
            stage.now_ms()
        );
    }
}

/// When a request was made and when it was admitted; Redis decided in between.
type Admission = (Instant, Instant);

async fn hammer(node: Limits, until: Instant) -> Vec<Admission> {
    let mut admissions = Vec::new();
    while Instant::now() < until {
        let asked = Instant::now();
        let answer = node
            .check(Operation::Login, quota("25/200ms"), SUBJECT)
            .await;
        if answer.admitted {
            admissions.push((asked, Instant::now()));
        }
        tokio::task::yield_now().await;
    }
    admissions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_real_time_no_rolling_window_over_three_nodes_holds_more_than_the_limit() {
    let window = Duration::from_millis(200);
    let mut stage = Stage::shared();
    let mut lanes = JoinSet::new();
    let started = Instant::now();
    let until = started + Duration::from_secs(3);
    for _ in 0..3 {
        let node = stage.node_in_real_time().await;
        for _ in 0..3 {
            lanes.spawn(hammer(node.clone(), until));
        }
    }
    let mut admissions = lanes.join_all().await.concat();
    admissions.sort_unstable();
    // Redis counts in whole milliseconds, so a window is a millisecond less wide than it is long.
    let is_inside = |from: Instant, (asked, admitted): &Admission| {
        *asked >= from && *admitted + Duration::from_millis(1) < from + window
    };
    for (from, _) in &admissions {
        let inside = admissions
            .iter()
            .filter(|one| is_inside(*from, one))
            .count();
        assert!(inside <= 25, "{inside} within {window:?}");
    }
    let windows = started.elapsed().as_millis() / window.as_millis();
    println!("{} admitted in {windows} windows of 25", admissions.len());
    assert!(
        admissions.len() as u128 >= 25 * (windows / 2),
        "and they are used: {} in {windows} windows",
        admissions.len()
    );
}

#[tokio::test]
async fn callers_and_operations_of_two_nodes_never_affect_each_other() {
    let mut stage = Stage::shared();
    let (one, other) = (stage.node().await, stage.node().await);
    let two = quota("2/60s");
    for subject in ["key_a", "key_b"] {
        for operation in [Operation::Ingest, Operation::List] {
            let check = |node: &Limits| {
                let node = node.clone();
                async move { node.check(operation, two, subject).await.admitted }
            };
            let admitted = join(check(&one), check(&other)).await;
            assert_eq!(admitted, (true, true), "{subject} {operation:?}");
            let admitted = join(check(&one), check(&other)).await;
            assert_eq!(admitted, (false, false), "{subject} {operation:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_forgot_its_scripts_is_told_them_again() {
    let mut stage = Stage::own();
    let node = stage.node().await;
    let () = redis::cmd("SCRIPT")
        .arg("FLUSH")
        .query(&mut stage.connection)
        .expect("Redis answers");
    let two = quota("2/60s");
    for expected in [true, true, false] {
        let answer = node.check(Operation::Export, two, SUBJECT).await;
        assert_eq!(answer.admitted, expected);
    }
    assert!(node.is_shared());
}
