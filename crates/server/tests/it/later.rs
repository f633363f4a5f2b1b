//! Deliveries that wait for their next attempt: on time, and not forgotten by anybody's restart.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use domain::Timestamp;
use futures::{StreamExt as _, future::join_all, stream};
use testkit::{Answer, Received, Receiver, eventually, own};

use crate::deployment::{Customer, DEADLINE, Deployment};
use crate::pace::{Acknowledged, Alarm};

const ENDPOINTS: usize = 20;
const EACH: usize = 50;
/// The first two attempts are refused, so that a delivery waits 1 s, and then 5 s.
const REFUSED: u32 = 2;
/// Half of them are no later than this, even on a machine that does much else. The aim is a second.
const LATE: Duration = Duration::from_secs(3);
const CHECKS_AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_retries_are_made_when_they_are_due_and_never_before() {
    let deployment = Deployment::new();
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let raised = raise(&customer, &receiver).await;
    let wanted = raised.len() * (REFUSED as usize + 1);
    receiver.wait_for(wanted, DEADLINE * 2).await;

    let mut late = lateness(&customer, &receiver, &raised).await;
    late.sort_unstable();
    let at = |percent: usize| late[(late.len() * percent / 100).min(late.len() - 1)];
    println!(
        "{} retries: late p50 {} ms, p99 {} ms, at most {} ms",
        late.len(),
        at(50),
        at(99),
        at(100)
    );
    assert!(late[0] >= 0, "{} ms too early", -late[0]);
    assert!(
        at(50) <= i64::try_from(LATE.as_millis()).expect("small"),
        "late by {} ms",
        at(50)
    );
    assert_eq!(receiver.count(), wanted, "each was made once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_of_the_worker_and_the_journal_while_a_thousand_retries_wait_loses_none() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve("api,index,match");
    let mut worker = deployment.serve("deliver");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let raised = raise(&customer, &receiver).await;
    // All have been refused once, and most of them wait for the third attempt.
    receiver.wait_for(raised.len() * 2, DEADLINE * 2).await;

    worker.kill();
    nats.kill();
    nats.restart().expect("NATS starts again");
    let _worker = deployment.serve("deliver");

    let what = format!("{} are delivered", raised.len());
    eventually(DEADLINE * 2, &what, async || {
        let accepted = accepted(&receiver);
        (accepted >= raised.len()).then_some(()).ok_or(accepted)
    })
    .await;
    let sends = receiver.count();
    println!(
        "{} deliveries waited through a kill of worker and journal; {} sends too many",
        raised.len(),
        sends - raised.len() * (REFUSED as usize + 1)
    );
    eventually(DEADLINE * 2, "the log says delivered", async || {
        let rows = customer.all_deliveries().await;
        let open = rows
            .iter()
            .filter(|row| row["state"] != "delivered")
            .count();
        (open == 0 && rows.len() == raised.len())
            .then_some(())
            .ok_or(open)
    })
    .await;
}

/// Raises alerts whose first attempts are refused, for many endpoints at once.
async fn raise(customer: &Customer, receiver: &Receiver) -> Acknowledged {
    receiver.answer_by(|received| {
        // A refusal, unlike a failure, opens no breaker.
        let is_refused = attempt(received) <= REFUSED;
        Answer::status(if is_refused { 404 } else { 200 })
    });
    let mut alarms = Vec::new();
    for number in 0..ENDPOINTS {
        let url = receiver.url_of(&format!("/{number}"));
        alarms.push(Alarm::set(customer, &format!("agent-{number}"), &url).await);
    }
    let raising = alarms.iter().map(|alarm| alarm.raise_crowd(EACH));
    join_all(raising).await.into_iter().flatten().collect()
}

/// Of the last attempt of each delivery, how many milliseconds after its due time it arrived.
async fn lateness(customer: &Customer, receiver: &Receiver, raised: &Acknowledged) -> Vec<i64> {
    let mut arrived = HashMap::new();
    for received in receiver.received_where(|one| attempt(one) == REFUSED + 1) {
        let id = received.delivery_id().expect("an id").to_owned();
        arrived.entry(id).or_insert(millis(received.arrived_at));
    }
    stream::iter(raised.keys())
        .map(async |id| {
            let delivery = customer.delivery_in_state(id, "delivered").await;
            let due = delivery["attempt_log"][REFUSED as usize]["due_at"].as_str();
            let due = Timestamp::parse(due.expect("a time")).expect("a time");
            arrived[id] - due.unix_millis()
        })
        .buffer_unordered(CHECKS_AT_ONCE)
        .collect()
        .await
}

fn accepted(receiver: &Receiver) -> usize {
    let accepted = receiver.received_where(|received| received.answered == 200);
    let mut ids: Vec<&str> = accepted
        .iter()
        .filter_map(|one| one.delivery_id())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids.len()
}

fn attempt(received: &Received) -> u32 {
    let attempt = received.header("x-service-attempt");
    attempt
        .and_then(|text| text.parse().ok())
        .expect("a number")
}

fn millis(at: SystemTime) -> i64 {
    let since = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .expect("after 1970");
    i64::try_from(since.as_millis()).expect("in range")
}
