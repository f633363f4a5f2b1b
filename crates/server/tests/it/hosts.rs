//! However many URLs a host has, and whoever names them, it gets no more at a time than its places.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Answer, Receiver, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event};

/// How long a slow host takes for each request.
const TAKES: Duration = Duration::from_secs(1);
/// Several times what it takes for all of them.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_urls_of_a_slow_host_share_its_places_and_delay_nobody_else() {
    const PLACES: usize = 16;
    const URLS: usize = 200;
    let places = PLACES.to_string();
    let running = Running::start(Deployment::new().with("DELIVERY__CONCURRENCY_PER_HOST", &places));
    let customer = &running.customer;
    let (slow, quick) = (
        Receiver::start().expect("a receiver"),
        Receiver::start().expect("a receiver"),
    );
    slow.answer_always(Answer::status(200).after(TAKES));
    for number in 0..URLS {
        rule_for(customer, "crowd", &slow.url_of(&format!("/{number}"))).await;
    }
    rule_for(customer, "lone", &quick.url()).await;

    customer.ingest(&event("crowd")).await;
    slow.wait_for_count(PLACES, DEADLINE).await;
    for _ in 0..5 {
        customer.ingest(&event("lone")).await;
    }
    quick.wait_for_count(5, DEADLINE).await;
    let meanwhile = slow.count();
    assert!(meanwhile < URLS, "the other host waited for the slow one");

    let deliveries = delivered(customer, URLS + 5).await;
    assert_eq!(slow.count(), URLS, "each once, of {deliveries} in all");
    let most = most_at_a_time(&arrivals(&slow, ""));
    assert!(most <= PLACES, "{most} at a time");
    assert!(most > PLACES / 2, "only {most} at a time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn organizations_that_name_the_same_host_share_four_times_the_places_of_one() {
    const PLACES: usize = 2;
    const ORGS: usize = 6;
    const URLS: usize = 8;
    let places = PLACES.to_string();
    let mut running =
        Running::start(Deployment::new().with("DELIVERY__CONCURRENCY_PER_HOST", &places));
    let victim = Receiver::start().expect("a receiver");
    victim.answer_always(Answer::status(200).after(TAKES));
    let mut customers = Vec::new();
    for org in 0..ORGS {
        let customer = running.deployment.customer(&mut running.server);
        for number in 0..URLS {
            let url = victim.url_of(&format!("/{org}/{number}"));
            rule_for(&customer, "crowd", &url).await;
        }
        customers.push(customer);
    }
    for customer in &customers {
        customer.ingest(&event("crowd")).await;
    }
    for customer in &customers {
        delivered(customer, URLS).await;
    }
    assert_eq!(victim.count(), ORGS * URLS, "each once");
    let most = most_at_a_time(&arrivals(&victim, ""));
    assert!(most <= 4 * PLACES, "{most} at a time");
    for org in 0..ORGS {
        let most = most_at_a_time(&arrivals(&victim, &format!("/{org}/")));
        assert!(most <= PLACES, "{most} at a time of one organization");
    }
}

async fn rule_for(customer: &Customer, agent: &str, url: &str) {
    customer.rule(json!({"agent_id": [agent]}), url).await;
}

/// Waits until so many deliveries of a customer are made, and all of them delivered.
async fn delivered(customer: &Customer, count: usize) -> usize {
    eventually(PATIENCE, "everything is delivered", async || {
        let deliveries = customer.all_deliveries().await;
        let states = deliveries.iter().map(|delivery| delivery["state"].as_str());
        let is_done = states.collect::<HashSet<_>>() == HashSet::from([Some("delivered")]);
        (is_done && deliveries.len() == count).then_some(count)
    })
    .await
}

/// When requests to paths that begin so arrived, in order.
fn arrivals(receiver: &Receiver, path: &str) -> Vec<Instant> {
    let received = receiver.received_where(|one| one.uri.path().starts_with(path));
    received.iter().map(|one| one.arrived).collect()
}

/// Each is answered [`TAKES`] after it arrived, so those that arrive within that time are there together.
fn most_at_a_time(arrivals: &[Instant]) -> usize {
    let together = |(number, first): (usize, &Instant)| {
        let later = arrivals[number..].iter();
        later.take_while(|one| **one < *first + TAKES).count()
    };
    arrivals.iter().enumerate().map(together).max().unwrap_or(0)
}
