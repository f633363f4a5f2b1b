//! What a client was told is true for whoever asks next: lists show what was accepted, rules judge
//! what came after them, and an event sent twice is one event.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Receiver, Watchbell, eventually};
use tokio::task::JoinSet;

use crate::deployment::{Customer, DEADLINE, Deployment, event};
use crate::load::{Load, assert_listed_once, named_event, wait_until_fresh};

/// So long the index gathers events, unless somebody waits for them.
const GATHERED: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_posted_event_is_on_the_first_page_of_the_next_get_a_thousand_times_in_a_row() {
    const TIMES: usize = 1_000;
    let deployment = Deployment::new();
    let mut api = deployment.serve("api");
    let _index = deployment.serve("index");
    let customer = deployment.customer(&mut api);
    wait_until_fresh(&customer, "/v1/audit/events").await;

    let mut took = Vec::with_capacity(TIMES);
    for number in 0..TIMES {
        let id = customer.ingest(&event("agent-1")).await;
        let started = Instant::now();
        let page = customer.get_json("/v1/audit/events").await;
        took.push(started.elapsed());
        assert_eq!(page["fresh"], true, "read {number}");
        let ids = page["data"].as_array().expect("data");
        assert!(
            ids.iter().any(|event| event["id"] == id),
            "read {number}: {id} is not on the first page"
        );
    }
    took.sort_unstable();
    println!(
        "GET right after POST, {TIMES} times: p50 {:?}, p99 {:?}, longest {:?}",
        took[TIMES / 2],
        took[TIMES * 99 / 100],
        took[TIMES - 1]
    );
    assert!(took[TIMES / 2] < GATHERED / 10, "the index is woken");
}

#[tokio::test]
async fn events_that_nobody_waits_for_share_transactions() {
    let deployment = Deployment::new();
    let mut api = deployment.serve("api");
    let _index = deployment.serve("index");
    let customer = deployment.customer(&mut api);
    wait_until_fresh(&customer, "/v1/audit/events").await;

    let (started, mut sent) = (Instant::now(), 0);
    while started.elapsed() < GATHERED * 4 {
        customer.ingest(&event("agent-1")).await;
        sent += 1;
    }
    let took = started.elapsed();
    wait_until_fresh(&customer, "/v1/audit/events").await;
    let written = deployment.sql("SELECT count(*) FROM audit_events WHERE agent_id = 'agent-1'");
    assert_eq!(written, sent.to_string());
    let transactions = deployment.sql("SELECT count(DISTINCT xmin::text) FROM audit_events");
    println!("{sent} events in {took:?}: {transactions} transactions");
    let most = took.as_millis() / GATHERED.as_millis() + 3;
    let transactions: u128 = transactions.parse().expect("a number");
    assert!(transactions <= most, "{transactions}, and not {most}");
}

#[tokio::test]
async fn an_event_posted_the_instant_its_rule_exists_always_matches_a_thousand_times() {
    const LANES: usize = 10;
    const TIMES: usize = 100;
    let deployment = Deployment::new();
    let mut api = deployment.serve("api");
    let _match = deployment.serve("match");
    let _deliver = deployment.serve("deliver");
    // Two organizations, so that several partitions may be at work.
    let customers = [deployment.customer(&mut api), deployment.customer(&mut api)];
    let receiver = Receiver::start().expect("a receiver");

    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        let (customer, url) = (customers[lane % 2].clone(), receiver.url());
        lanes.spawn(async move {
            let mut expected = Vec::with_capacity(TIMES);
            for number in 0..TIMES {
                let agent = format!("agent-{lane}-{number}");
                let rule = customer.rule(json!({"agent_id": [agent]}), &url).await;
                expected.push((rule, customer.ingest(&event(&agent)).await));
            }
            expected
        });
    }
    let expected: BTreeSet<_> = lanes.join_all().await.into_iter().flatten().collect();
    assert_eq!(expected.len(), LANES * TIMES);

    receiver.wait_for(expected.len(), DEADLINE).await;
    let arrived = eventually(DEADLINE, "each event has alerted", async || {
        let arrived: BTreeSet<_> = receiver
            .received()
            .iter()
            .filter_map(|received| Some((received.rule_id()?, received.event_id()?)))
            .collect();
        let missing = expected.difference(&arrived).count();
        (missing == 0)
            .then_some(arrived)
            .ok_or(format!("{missing} are missing"))
    })
    .await;
    assert_eq!(arrived, expected, "no other rule matched");
    println!(
        "{} rules, each matched its event; {} deliveries came twice",
        expected.len(),
        receiver.count() - expected.len()
    );
}

#[tokio::test]
async fn an_event_sent_twice_is_listed_once_and_alerts_once_even_through_two_api_processes() {
    const EVENTS: usize = 50;
    let deployment = Deployment::new();
    let mut server = deployment.serve_all();
    let mut second_api = deployment.serve("api");
    let customer = deployment.customer(&mut server);
    let elsewhere = customer.at(&mut second_api);
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;

    let mut ids = BTreeSet::new();
    for number in 0..EVENTS {
        let event = named_event("agent-1", &format!("event-{number}"));
        let (here, there) = tokio::join!(customer.ingest(&event), elsewhere.ingest(&event));
        let again = customer.ingest(&event).await;
        assert_eq!(
            (&here, &here),
            (&there, &again),
            "the same event has one id"
        );
        ids.insert(here);
    }
    assert_eq!(ids.len(), EVENTS);

    wait_until_fresh(&customer, "/v1/audit/events").await;
    let listed = listed(&customer).await;
    assert_eq!(listed.len(), EVENTS, "each is listed once");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), ids);
    // A partition is judged in order: once this one's delivery is on record, the others are judged.
    let last = customer.ingest(&event("agent-1")).await;
    let deliveries = eventually(DEADLINE, "the last event is delivered", async || {
        let deliveries = customer.all_deliveries().await;
        let is_last = |delivery: &&Value| delivery["event_id"] == last;
        let delivered = deliveries
            .iter()
            .all(|delivery| delivery["state"] == "delivered");
        (delivered && deliveries.iter().any(|delivery| is_last(&delivery))).then_some(deliveries)
    })
    .await;
    assert_eq!(deliveries.len(), EVENTS + 1, "each alerts once");
    assert_eq!(receiver.count(), EVENTS + 1, "each is sent once");
}

#[tokio::test]
async fn two_indexers_at_once_list_every_event_once() {
    const EVENTS: usize = 1_500;
    let deployment = Deployment::new();
    let mut api = deployment.serve("api");
    let mut indexers = [deployment.serve("index"), deployment.serve("index")];
    let customer = deployment.customer(&mut api);

    let load = Load::start(&customer, 16);
    load.wait_for_accepted(EVENTS).await;
    let ledger = load.stop().await;

    let listed = assert_listed_once(&customer, &ledger).await;
    assert_eq!(listed.len(), ledger.accepted.len());
    let mut indexed = Vec::new();
    for indexer in &mut indexers {
        indexed.push(events_indexed(&customer, indexer).await);
    }
    println!("{} events, indexed by each: {indexed:?}", listed.len());
    assert_eq!(
        indexed.iter().sum::<usize>(),
        listed.len(),
        "what one indexer applied, the other did not"
    );
}

async fn listed(customer: &Customer) -> Vec<String> {
    let events = customer.all_events().await;
    let id = |event: &Value| event["id"].as_str().expect("an id").to_owned();
    events.iter().map(id).collect()
}

/// How many events a process says it has indexed.
pub(crate) async fn events_indexed(customer: &Customer, indexer: &mut Watchbell) -> usize {
    let metrics = customer.at(indexer).request(Method::GET, "/metrics");
    let metrics = metrics.timeout(Duration::from_secs(5)).send().await;
    let text = metrics.expect("an answer").text().await.expect("a body");
    text.lines()
        .filter_map(|line| line.strip_prefix("watchbell_events_indexed_total "))
        .map(|count| count.parse::<usize>().expect("a whole number"))
        .sum()
}
