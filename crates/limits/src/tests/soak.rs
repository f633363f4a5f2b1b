//! A million callers in one process: what they take in memory, and that it is given back.

use std::{sync::atomic::Ordering, time::Duration};

use domain::limit::{Operation, Quota};
use futures::{FutureExt as _, future::join_all};
use testkit::eventually;

use super::{in_memory, quota, stage::Stage};
use crate::table::SHARDS;

const DEADLINE: Duration = Duration::from_secs(60);

/// As long as the id of an API key.
fn subject(round: u32, number: u32) -> String {
    format!("key_{round:04}{number:022}")
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
    kilobytes.expect("a number") * 1_024
}

fn megabytes(more: usize, than: usize) -> usize {
    more.saturating_sub(than) >> 20
}

#[test]
fn a_million_callers_in_memory_are_forgotten_when_their_window_has_passed() {
    let (node, now_us) = in_memory();
    let empty = resident_bytes();
    let mut full_at_first = 0;
    for (round, callers) in [(0, 1_000_000), (1, 100_000)] {
        for number in 0..callers {
            let subject = subject(round, number);
            let check = node.check(Operation::Ingest, quota("5/60s"), &subject);
            assert!(check.now_or_never().expect("at once").admitted);
        }
        let (windows, full) = (node.windows(), resident_bytes());
        assert_eq!(windows, callers as usize);
        println!("{windows} windows take {} MB", megabytes(full, empty));
        if round == 0 {
            let each = (full - empty) / windows;
            println!("{each} bytes each");
            assert!(each < 240, "{each} bytes for one active caller");
            full_at_first = full;
        }
        assert!(
            full < full_at_first + full_at_first / 10,
            "the room is used again"
        );
        let later_us = now_us.fetch_add(60_000_000, Ordering::SeqCst) + 60_000_000;
        for shard in 0..SHARDS {
            node.inner.table.sweep(shard, later_us);
        }
        assert_eq!(node.windows(), 0);
        println!(
            "swept: {} MB more than at first",
            megabytes(resident_bytes(), empty)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_through_redis_are_forgotten_on_both_sides() {
    const CALLERS: u32 = 100_000;
    const IN_FLIGHT: u32 = 200;
    let mut stage = Stage::own();
    let node = stage.node_in_real_time().await;
    let limit: Quota = quota("5/3s");
    let (empty, empty_redis) = (resident_bytes(), stage.used_bytes());
    let (mut most_windows, mut most_keys) = (0, 0);
    for first in (0..CALLERS).step_by(IN_FLIGHT as usize) {
        let checks = (first..first + IN_FLIGHT).map(|number| {
            let node = &node;
            async move {
                let subject = subject(0, number);
                node.check(Operation::Ingest, limit, &subject).await
            }
        });
        assert!(join_all(checks).await.iter().all(|one| one.admitted));
        if first % 10_000 == 0 {
            most_windows = most_windows.max(node.windows());
            most_keys = most_keys.max(stage.keys());
        }
    }
    println!("{CALLERS} callers, at most {most_windows} windows and {most_keys} keys at a time");
    eventually(DEADLINE, "both have forgotten them", async || {
        // Two keys are about the nodes, and one is the clock of the stage.
        let left = (node.windows(), stage.keys());
        if left.0 == 0 && left.1 <= 3 {
            Ok(())
        } else {
            Err(left)
        }
    })
    .await;
    println!(
        "afterwards {} MB more here, {} KB more in Redis",
        megabytes(resident_bytes(), empty),
        stage.used_bytes().saturating_sub(empty_redis) >> 10
    );
    assert!(node.is_shared());
    assert!(stage.used_bytes() < empty_redis + (4 << 20));
}
