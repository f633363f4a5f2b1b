//! An endpoint in trouble: its deliveries wait apart, nobody else waits, and nothing is lost.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Answer, Receiver, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, ok};

/// Long enough for a breaker to open, to be probed and to close.
const PATIENCE: Duration = Duration::from_secs(60);

/// So many events of an agent in one request.
async fn ingest_many(customer: &Customer, agent: &str, count: usize) {
    let events: Vec<Value> = (0..count).map(|_| event(agent)).collect();
    let body = json!({"events": events});
    let accepted = ok(customer.post("/v1/audit/events", &body).await).await;
    assert_eq!(accepted["ingested"], count);
}

async fn rule_for(customer: &Customer, agent: &str, url: &str) -> String {
    customer.rule(json!({"agent_id": [agent]}), url).await
}

/// What the trail says of endpoints, oldest first.
async fn notices(customer: &Customer) -> Vec<Value> {
    let path = "/v1/audit/events?event_type=endpoint_change&order=asc&limit=1000";
    let page = customer.get_json(path).await;
    page["data"].as_array().expect("data").clone()
}

async fn notice(customer: &Customer, action: &str) -> Value {
    eventually(PATIENCE, action, async || {
        let notices = notices(customer).await;
        notices
            .into_iter()
            .find(|notice| notice["action"] == action)
    })
    .await
}

fn different(receiver: &Receiver) -> usize {
    let received = receiver.received();
    let ids: HashSet<_> = received.iter().map(|one| one.delivery_id()).collect();
    ids.len()
}

#[tokio::test]
async fn a_dead_endpoint_is_left_alone_and_gets_everything_when_it_is_back() {
    const EVENTS: usize = 200;
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let (dead, healthy) = (
        Receiver::start().expect("a receiver"),
        Receiver::start().expect("a receiver"),
    );
    dead.answer_always(Answer::status(503));
    rule_for(customer, "agent-1", &dead.url()).await;
    rule_for(customer, "agent-1", &healthy.url()).await;
    ingest_many(customer, "agent-1", EVENTS).await;

    healthy.wait_for(EVENTS, DEADLINE).await;
    let opened = notice(customer, "endpoints.open").await;
    assert_eq!(opened["metadata"]["url"], dead.url(), "{opened}");
    // Ten in a row open it; those that were on their way arrive too.
    let asked = dead.count();
    assert!(
        asked < 40,
        "it was asked {asked} times before it was left alone"
    );

    dead.answer_always(Answer::status(200));
    eventually(PATIENCE, "everything arrived", async || {
        (different(&dead) == EVENTS).then_some(())
    })
    .await;
    notice(customer, "endpoints.close").await;
}

#[tokio::test]
async fn what_waits_for_a_dead_endpoint_outlives_the_worker() {
    const EVENTS: usize = 100;
    let deployment = Deployment::new();
    let mut api = deployment.serve("api,index,match");
    let customer = &deployment.customer(&mut api);
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::status(500));
    rule_for(customer, "agent-1", &receiver.url()).await;
    let mut worker = deployment.serve("deliver");
    ingest_many(customer, "agent-1", EVENTS).await;
    notice(customer, "endpoints.open").await;
    worker.kill();

    receiver.answer_always(Answer::status(200));
    let _another = deployment.serve("deliver");
    eventually(PATIENCE, "everything arrived", async || {
        (different(&receiver) == EVENTS).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_receiver_that_asks_for_a_pause_gets_one_for_all_its_deliveries() {
    const EVENTS: usize = 50;
    const PAUSE: Duration = Duration::from_secs(5);
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let busy = Answer::status(429).header("retry-after", "5");
    receiver.answer_always(busy);
    rule_for(customer, "agent-1", &receiver.url()).await;
    ingest_many(customer, "agent-1", EVENTS).await;
    receiver.wait_for(1, DEADLINE).await;
    let asked_at = receiver.received()[0].arrived;
    eventually(DEADLINE, "half of the pause is over", async || {
        (asked_at.elapsed() > PAUSE / 2).then_some(())
    })
    .await;
    let asked = receiver.count();
    assert!(
        asked <= 16,
        "{asked} of {EVENTS} were sent although it asked for a pause"
    );
    receiver.answer_always(Answer::status(200));

    eventually(PATIENCE, "everything arrived", async || {
        (different(&receiver) == EVENTS).then_some(())
    })
    .await;
    let received = receiver.received();
    let early = received
        .iter()
        .filter(|one| one.arrived > asked_at + PAUSE / 2 && one.arrived < asked_at + PAUSE)
        .count();
    assert_eq!(early, 0, "sent before the pause was over");
}

#[tokio::test]
async fn a_hung_endpoint_with_much_to_send_delays_nobody_else() {
    const EVENTS: usize = 1_000;
    // As many slots as a shared pool would lose to the hung one at once.
    let deployment = Deployment::new().with("DELIVERY__CONCURRENCY", "32");
    let running = Running::start(deployment);
    let customer = &running.customer;
    let (hung, healthy) = (
        Receiver::start().expect("a receiver"),
        Receiver::start().expect("a receiver"),
    );
    hung.answer_always(Answer::never());
    rule_for(customer, "agent-1", &hung.url()).await;
    rule_for(customer, "agent-2", &healthy.url()).await;
    ingest_many(customer, "agent-1", EVENTS).await;
    hung.wait_for_count(8, DEADLINE).await;

    ingest_many(customer, "agent-2", 20).await;
    // Well before the first of the hung ones is given up.
    healthy.wait_for(20, Duration::from_secs(8)).await;
    assert!(
        hung.count() <= 8,
        "{} at a time to one endpoint",
        hung.count()
    );
}

#[tokio::test]
async fn a_retry_goes_where_the_rule_goes_now() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let (wrong, right) = (
        Receiver::start().expect("a receiver"),
        Receiver::start().expect("a receiver"),
    );
    wrong.answer_always(Answer::status(404));
    let rule = rule_for(customer, "agent-1", &wrong.url()).await;
    customer.ingest(&event("agent-1")).await;
    wrong.wait_for(1, DEADLINE).await;
    let mended = json!({"url": right.url()});
    customer
        .patch(&format!("/v1/alert-rules/{rule}"), &mended)
        .await;
    let received = right.wait_for(1, PATIENCE).await;
    assert_eq!(
        received[0].delivery_id(),
        wrong.received()[0].delivery_id(),
        "the same delivery"
    );
}

#[tokio::test]
async fn deliveries_of_a_deleted_rule_are_canceled() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::status(500));
    let rule = rule_for(customer, "agent-1", &receiver.url()).await;
    customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let id = received[0].delivery_id().expect("an id");
    customer.delete(&format!("/v1/alert-rules/{rule}")).await;
    let canceled = customer.delivery_in_state(id, "canceled").await;
    assert_eq!(canceled["reason"], "rule_deleted", "{canceled}");
    assert!(receiver.count() <= 3, "{}", receiver.count());
}

/// A rule whose receiver asks for a pause of a day; says which deliveries stand in its lane.
async fn hold_for_a_day(customer: &Customer, receiver: &Receiver) -> (String, Vec<String>) {
    const EVENTS: usize = 50;
    let busy = Answer::status(429).header("retry-after", "86400");
    receiver.answer_always(busy);
    let rule = rule_for(customer, "agent-1", &receiver.url()).await;
    ingest_many(customer, "agent-1", EVENTS).await;
    let held = eventually(DEADLINE, "all are held or wait", async || {
        let deliveries = customer.all_deliveries().await;
        let is_over = deliveries.iter().all(|one| one["state"] != "pending");
        let held = deliveries.iter().filter(|one| one["state"] == "held");
        let held = held.map(|one| one["id"].as_str().expect("an id").to_owned());
        let held: Vec<String> = held.collect();
        (is_over && deliveries.len() == EVENTS).then_some(held)
    })
    .await;
    assert!(held.len() > EVENTS / 2, "{} are held", held.len());
    (rule, held)
}

#[tokio::test]
async fn what_stands_in_a_lane_goes_where_the_rule_goes_now() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let (busy, right) = (
        Receiver::start().expect("a receiver"),
        Receiver::start().expect("a receiver"),
    );
    let (rule, held) = hold_for_a_day(customer, &busy).await;
    let mended = json!({"url": right.url()});
    customer
        .patch(&format!("/v1/alert-rules/{rule}"), &mended)
        .await;
    eventually(DEADLINE, "what was held arrives there", async || {
        let received = right.received();
        let ids: HashSet<_> = received
            .iter()
            .filter_map(|one| one.delivery_id())
            .collect();
        held.iter()
            .all(|id| ids.contains(id.as_str()))
            .then_some(())
    })
    .await;
    assert_eq!(right.count(), different(&right), "each of them once");
}

#[tokio::test]
async fn what_stands_in_a_lane_of_another_rule_too_stays_when_one_goes_elsewhere() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let busy = Receiver::start().expect("a receiver");
    let (rule, held) = hold_for_a_day(customer, &busy).await;
    let other = rule_for(customer, "agent-2", &busy.url()).await;
    ingest_many(customer, "agent-2", 10).await;
    eventually(DEADLINE, "those of the other are held", async || {
        let deliveries = customer.all_deliveries().await;
        let of_other = deliveries.iter().filter(|one| one["rule_id"] == *other);
        let held = of_other.filter(|one| one["state"] == "held");
        (held.count() == 10).then_some(())
    })
    .await;
    let asked = busy.count();
    customer.delete(&format!("/v1/alert-rules/{rule}")).await;
    for id in held {
        let canceled = customer.delivery_in_state(&id, "canceled").await;
        assert_eq!(canceled["reason"], "rule_deleted", "{canceled}");
    }
    let deliveries = customer.all_deliveries().await;
    let of_other = deliveries.iter().filter(|one| one["rule_id"] == *other);
    assert_eq!(of_other.filter(|one| one["state"] == "held").count(), 10);
    assert_eq!(busy.count(), asked, "it has its pause");
}
