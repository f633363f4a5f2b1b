//! Endpoints in trouble delay nobody but themselves.

use std::time::Duration;

use futures::future::join_all;
use testkit::{Answer, Receiver};

use crate::deployment::{DEADLINE, Deployment, Running};
use crate::pace::{Acknowledged, Alarm, lags};

/// Few enough that the five endpoints in trouble would have every slot if nobody stopped them.
const SLOTS: &str = "64";
const HEALTHY: usize = 5;
/// Alerts to each healthy endpoint, and how often.
const ALERTS: usize = 50;
const EVERY: Duration = Duration::from_millis(120);
/// What waits for each endpoint in trouble, and for the one whose queue is long.
const TROUBLED: usize = 200;
const CROWD: usize = 2_000;
/// A pool that all share is held up for 10 s by those that hang. What a busy machine adds is far less.
const RATIO_MAX: u32 = 5;
const NOISE: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_endpoints_in_trouble_do_not_delay_the_healthy_ones() {
    let running = Running::start(Deployment::new().with("DELIVERY__CONCURRENCY", SLOTS));
    let customer = &running.customer;
    let (well, troubled) = (
        Receiver::start_light().expect("a receiver"),
        Receiver::start_light().expect("a receiver"),
    );
    let mut alarms = Vec::new();
    for number in 0..HEALTHY {
        let url = well.url_of(&format!("/well/{number}"));
        alarms.push(Alarm::set(customer, &format!("well-{number}"), &url).await);
    }
    let alone = lags(&raise(&alarms).await, &well, DEADLINE).await;

    for (path, answer, waiting) in [
        ("/hangs", Answer::never(), TROUBLED),
        (
            "/trickles",
            Answer::status(200).trickled(Duration::from_millis(100)),
            TROUBLED,
        ),
        (
            "/never-ends",
            Answer::status(200).endless(1 << 30),
            TROUBLED,
        ),
        ("/too-many", Answer::status(429), TROUBLED),
        (
            "/crowded",
            Answer::status(200).after(Duration::from_millis(200)),
            CROWD,
        ),
    ] {
        troubled.answer_at(path, answer);
        let alarm = Alarm::set(customer, path, &troubled.url_of(path)).await;
        alarm.raise_crowd(waiting).await;
    }
    let beside = lags(&raise(&alarms).await, &well, DEADLINE).await;

    println!("alone: {alone}\nbeside five endpoints in trouble: {beside}");
    println!("{} requests reached those in trouble", troubled.count());
    assert!(troubled.count() > 0, "they were in trouble");
    assert!(
        beside.p99 <= alone.p99 * RATIO_MAX + NOISE,
        "p99 {:?}, and {:?} alone",
        beside.p99,
        alone.p99
    );
}

async fn raise(alarms: &[Alarm]) -> Acknowledged {
    let raising = alarms.iter().map(|alarm| alarm.raise(ALERTS, EVERY));
    join_all(raising).await.into_iter().flatten().collect()
}
