//! `kill -9` in mid-work: what was accepted is listed and delivered, whoever died.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use testkit::{Answer, Receiver, Watchbell};

use crate::deployment::{DEADLINE, Deployment};
use crate::in_hand::{Excuses, until_nothing_is_queued};
use crate::load::{Load, arrived, assert_nothing_lost};

/// Who is killed, and how many events are accepted before. What a killed deliverer had in hand comes
/// back after 16 s, so it goes first and the others die meanwhile.
const KILLS: [(&str, usize); 12] = [
    ("deliver", 150),
    ("deliver", 41),
    ("deliver", 83),
    ("match", 67),
    ("index", 29),
    ("api", 53),
    ("match", 31),
    ("index", 97),
    ("api", 19),
    ("match", 43),
    ("index", 71),
    ("api", 37),
];

#[tokio::test]
async fn kill_9_of_each_role_in_mid_work_loses_nothing() {
    let deployment = Deployment::new();
    let mut processes: BTreeMap<&str, Watchbell> = ["api", "index", "match", "deliver"]
        .into_iter()
        .map(|role| (role, deployment.serve(role)))
        .collect();
    let api = processes.get_mut("api").expect("it runs");
    let customer = deployment.customer(api);
    let receiver = Receiver::start().expect("a receiver");
    // Slow enough that some sends are always in flight.
    receiver.answer_always(Answer::status(200).after(Duration::from_millis(50)));
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;

    let load = Load::start(&customer, 6);
    let mut excuses = Excuses::default();
    for (role, accepted) in KILLS {
        load.wait_for_accepted(accepted).await;
        processes.get_mut(role).expect("it runs").kill();
        if role == "deliver" {
            excuses.worker_died(&deployment);
        }
        if role != "api" {
            // Work piles up for the one that is dead.
            load.wait_for_accepted(20).await;
        }
        let mut restarted = deployment.serve(role);
        if role == "api" {
            load.call(&restarted.url(DEADLINE));
        }
        processes.insert(role, restarted);
    }
    load.wait_for_accepted(50).await;
    let ledger = load.stop().await;

    let api = processes.get_mut("api").expect("it runs");
    assert_nothing_lost(&customer.at(api), &receiver, &ledger).await;
    until_nothing_is_queued(&deployment).await;
    let arrived = arrived(&receiver);
    println!(
        "{} kills under {} accepted events ({} sent again); {} deliveries, {} of {} in hand came again",
        KILLS.len(),
        ledger.accepted.len(),
        ledger.troubles.len(),
        arrived.len(),
        excuses.cover_arrived(&arrived),
        excuses.held()
    );
}

#[tokio::test]
async fn an_indexer_that_is_killed_beside_another_leaves_no_gap_and_no_double() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,match,deliver,index");
    let mut second = deployment.serve("index");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;

    let load = Load::start(&customer, 6);
    for _ in 0..5 {
        load.wait_for_accepted(60).await;
        second.kill();
        second = deployment.serve("index");
    }
    let ledger = load.stop().await;

    assert_eq!(ledger.troubles, Vec::<String>::new());
    assert_nothing_lost(&customer, &receiver, &ledger).await;
    until_nothing_is_queued(&deployment).await;
    // Nobody who delivers died.
    assert_eq!(Excuses::default().cover_arrived(&arrived(&receiver)), 0);
    for grain in ["minute", "hour", "day"] {
        let counted = deployment.sql(&format!(
            "SELECT sum(events) - (SELECT count(*) FROM audit_events) FROM event_counts
             WHERE field = 'agent_id' AND grain = '{grain}'"
        ));
        assert_eq!(counted.trim(), "0", "counted by {grain}");
    }
    println!(
        "an indexer killed 5 times beside another under {} events",
        ledger.accepted.len()
    );
}
