//! Recovering a rule's deliveries of the past: counted, sent again, canceled, whoever dies meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Answer, Receiver, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, answered, event, ok};
use crate::errors::problem;

const EVER: &str = "2020-01-01T00:00:00Z";

/// Sends so many events in batches.
async fn ingest(customer: &Customer, count: usize) {
    for batch in (0..count).collect::<Vec<_>>().chunks(1_000) {
        let events: Vec<Value> = batch
            .iter()
            .map(|one| event(&format!("agent-{one}")))
            .collect();
        ok(customer
            .post("/v1/audit/events", &json!({"events": events}))
            .await)
        .await;
    }
}

/// How the rule's deliveries stand, once so many are in a state.
async fn balance_with(customer: &Customer, rule: &str, state: &str, count: usize) -> Value {
    let what = format!("{count} are {state}");
    eventually(DEADLINE * 4, &what, async || {
        let balance = customer
            .get_json(&format!("/v1/alert-rules/{rule}/balance"))
            .await;
        (balance[state] == count).then_some(balance)
    })
    .await
}

/// As many deliveries that have failed; their rule.
async fn all_failed(customer: &Customer, receiver: &Receiver, deliveries: usize) -> String {
    receiver.answer_with(413);
    let rule = customer.rule(json!({}), &receiver.url()).await;
    ingest(customer, deliveries).await;
    balance_with(customer, &rule, "failed", deliveries).await;
    rule
}

async fn recovery_in_state(customer: &Customer, id: &str, state: &str) -> Value {
    let what = format!("{id} is {state}");
    eventually(DEADLINE * 4, &what, async || {
        let recovery = customer.get_json(&format!("/v1/recoveries/{id}")).await;
        (recovery["state"] == state).then_some(recovery)
    })
    .await
}

fn delivery_ids(receiver: &Receiver) -> BTreeSet<String> {
    let of = |trigger: &'static str| {
        receiver.received_where(move |one| one.header("x-service-trigger") == Some(trigger))
    };
    let ids = of("recover").into_iter();
    ids.map(|one| one.delivery_id().expect("an id").to_owned())
        .collect()
}

#[tokio::test]
async fn what_failed_is_counted_and_then_sent_again() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_with(413);
    let rule = customer.rule(json!({}), &receiver.url()).await;
    ingest(customer, 30).await;
    let balance = balance_with(customer, &rule, "failed", 30).await;
    assert_eq!(
        (&balance["matched"], &balance["balanced"]),
        (&json!(30), &json!(true))
    );
    receiver.answer_with(200);

    let recover = format!("/v1/alert-rules/{rule}/recover");
    let dry = json!({"since": EVER, "dry_run": true});
    let count = ok(customer.post(&recover, &dry).await).await;
    assert_eq!(count, json!({"count": 30, "by_state": {"failed": 30}}));
    let none = json!({"since": EVER, "until": "2021-01-01T00:00:00Z", "dry_run": true});
    let none = ok(customer.post(&recover, &none).await).await;
    assert_eq!(none["count"], 0);

    let asked = json!({"since": EVER});
    let (first, _) = answered(customer.named(&recover, "once", &asked)).await;
    let (second, _) = answered(customer.named(&recover, "once", &asked)).await;
    assert_eq!(first["id"], second["id"]);
    assert_eq!(first["total"], 30);
    let id = first["id"].as_str().expect("an id");
    let done = recovery_in_state(customer, id, "done").await;
    assert_eq!((&done["done"], &done["skipped"]), (&json!(30), &json!(0)));
    let balance = balance_with(customer, &rule, "delivered", 30).await;
    assert_eq!(balance["balanced"], true);
    assert_eq!(delivery_ids(&receiver).len(), 30);
    let list = customer.get_json("/v1/recoveries").await;
    assert_eq!(list["data"].as_array().expect("data").len(), 1);

    // Nothing is left; and what was delivered is sent again only if asked for.
    let count = ok(customer.post(&recover, &dry).await).await;
    assert_eq!(count["count"], 0);
    let delivered = json!({"since": EVER, "states": ["delivered"], "dry_run": true});
    let count = ok(customer.post(&recover, &delivered).await).await;
    assert_eq!(count["count"], 30);
}

#[tokio::test]
async fn what_makes_no_recovery_says_why() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({}), "https://example.com/hook").await;
    let recover = format!("/v1/alert-rules/{rule}/recover");
    for body in [
        json!({"since": "yesterday"}),
        json!({"since": EVER, "until": "2019-01-01T00:00:00Z"}),
        json!({"since": EVER, "states": ["suppressed"]}),
        json!({"since": EVER, "states": []}),
        json!({"since": "2999-01-01T00:00:00Z"}),
    ] {
        problem(customer.post(&recover, &body).await, 422).await;
    }
    customer.delete(&format!("/v1/alert-rules/{rule}")).await;
    let answer = customer.post(&recover, &json!({"since": EVER})).await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_repeated_request_is_answered_although_no_other_recovery_may_begin() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({}), "https://example.com/hook").await;
    let recover = format!("/v1/alert-rules/{rule}/recover");
    let asked = json!({"since": EVER});
    let (first, _) = answered(customer.named(&recover, "once", &asked)).await;
    let id = first["id"].as_str().expect("an id");
    recovery_in_state(customer, id, "done").await;
    // Five that nobody gets to.
    running.deployment.sql(
        "INSERT INTO recoveries (org_id, id, rule_id, asked_by, since, until, states, state, done, skipped, after,
                                 page, tries, created_at, leased_until)
         SELECT org_id, gen_random_uuid(), rule_id, asked_by, since, until, states, 'running', 0, 0, after, '{}', 0,
                created_at, now() + interval '1 day'
         FROM recoveries, generate_series(1, 5)",
    );
    let refused = problem(customer.post(&recover, &asked).await, 409).await;
    assert_eq!(refused["code"], "LIMIT_REACHED");
    let (again, _) = answered(customer.named(&recover, "once", &asked)).await;
    assert_eq!(
        (&again["id"], &again["state"]),
        (&first["id"], &json!("done"))
    );
    // They were too many to be counted.
    let list = customer.get_json("/v1/recoveries").await;
    let uncounted = |one: &&Value| one["total"].is_null();
    let data = list["data"].as_array().expect("data");
    assert_eq!(data.iter().filter(uncounted).count(), 5);
}

#[tokio::test]
async fn kill_9_of_the_worker_in_the_middle_of_a_recovery_leaves_nothing_behind() {
    const DELIVERIES: usize = 1_200;
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,match,deliver");
    let mut index = deployment.serve("index");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let rule = all_failed(&customer, &receiver, DELIVERIES).await;
    receiver.answer_with(200);

    let recover = format!("/v1/alert-rules/{rule}/recover");
    let made = ok(customer.post(&recover, &json!({"since": EVER})).await).await;
    let id = made["id"].as_str().expect("an id").to_owned();
    let mut killed_at = Vec::new();
    for share in [1, 3] {
        let done = eventually(DEADLINE * 2, "it is under way", async || {
            let recovery = customer.get_json(&format!("/v1/recoveries/{id}")).await;
            let done = recovery["done"].as_u64().expect("a number");
            (done >= share * 200).then_some(done)
        })
        .await;
        index.kill();
        killed_at.push(done);
        index = deployment.serve("index");
    }
    assert!(
        killed_at[0] < DELIVERIES as u64,
        "{killed_at:?}: it was killed in the middle"
    );
    let done = recovery_in_state(&customer, &id, "done").await;
    let sum =
        done["done"].as_u64().expect("a number") + done["skipped"].as_u64().expect("a number");
    assert_eq!(sum, DELIVERIES as u64, "{done}");
    let balance = balance_with(&customer, &rule, "delivered", DELIVERIES).await;
    assert_eq!(balance["balanced"], true);
    let sent = delivery_ids(&receiver);
    assert_eq!(sent.len(), DELIVERIES, "each was sent again");
    let again = receiver.received_where(|one| one.header("x-service-trigger") == Some("recover"));
    assert_eq!(
        again.len(),
        DELIVERIES,
        "killed after {killed_at:?}, and none came too often: no deliverer died"
    );
}

/// As whoever dies between queuing a page and noting that it is done leaves it.
#[tokio::test]
async fn a_page_that_was_queued_and_is_done_again_sends_nothing_twice() {
    const DELIVERIES: usize = 40;
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let rule = all_failed(customer, &receiver, DELIVERIES).await;
    // Some are on record as delivered when the page is done again, and some are under way.
    receiver.answer_by(
        |received| match received.json()["event"]["agent_id"].as_str() {
            Some("agent-3" | "agent-7" | "agent-36") => Answer::status(200),
            _ => Answer::status(200).after(Duration::from_secs(3)),
        },
    );

    let recover = format!("/v1/alert-rules/{rule}/recover");
    let made = ok(customer.post(&recover, &json!({"since": EVER})).await).await;
    let id = made["id"].as_str().expect("an id");
    recovery_in_state(customer, id, "done").await;
    eventually(DEADLINE, "some are delivered", async || {
        let path = format!("/v1/alert-rules/{rule}/balance");
        let delivered = customer.get_json(&path).await["delivered"].as_u64();
        delivered > Some(0)
    })
    .await;
    running.deployment.sql(
        "UPDATE recoveries SET state = 'running', done = 0, after = '00000000-0000-0000-0000-000000000000',
                page = ARRAY (SELECT id FROM deliveries ORDER BY id),
                page_at = (SELECT max(round_at) FROM deliveries),
                lease = NULL, leased_until = now(), finished_at = NULL",
    );
    let done = recovery_in_state(customer, id, "done").await;
    let under_way = customer
        .get_json(&format!("/v1/alert-rules/{rule}/balance"))
        .await;
    assert!(
        under_way["pending"].as_u64() > Some(0),
        "it was in the middle: {under_way}"
    );
    balance_with(customer, &rule, "delivered", DELIVERIES).await;
    running.deployment.queue_is_empty().await;
    let again = receiver.received_where(|one| one.header("x-service-trigger") == Some("recover"));
    assert_eq!(again.len(), DELIVERIES);
    assert_eq!(delivery_ids(&receiver).len(), DELIVERIES);
    assert_eq!(
        (&done["done"], &done["skipped"]),
        (&json!(DELIVERIES), &json!(0))
    );
}

#[tokio::test]
async fn a_request_that_was_refused_is_mended_under_its_name() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({}), "https://example.com/hook").await;
    let recover = format!("/v1/alert-rules/{rule}/recover");
    let named = async |body: Value| {
        let request = customer.named(&recover, "mended", &body);
        request.send().await.expect("an answer")
    };
    problem(named(json!({"since": "yesterday"})).await, 422).await;
    // Five that nobody gets to.
    running.deployment.sql(
        "INSERT INTO recoveries (org_id, id, rule_id, asked_by, since, until, states, state, done, skipped, after,
                                 page, tries, created_at, leased_until)
         SELECT org_id, gen_random_uuid(), id, 'a test', now(), now(), '{failed}', 'running', 0, 0,
                '00000000-0000-0000-0000-000000000000', '{}', 0, now(), now() + interval '1 day'
         FROM alert_rules, generate_series(1, 5)",
    );
    let full = problem(named(json!({"since": "2021-01-01T00:00:00Z"})).await, 409).await;
    assert_eq!(full["code"], "LIMIT_REACHED");
    running
        .deployment
        .sql("UPDATE recoveries SET state = 'canceled', finished_at = now()");
    let made = ok(named(json!({"since": EVER})).await).await;
    let again = ok(named(json!({"since": EVER})).await).await;
    assert_eq!(made["id"], again["id"]);
    let other = problem(named(json!({"since": "2022-01-01T00:00:00Z"})).await, 422).await;
    assert_eq!(other["code"], "IDEMPOTENCY_MISMATCH");
}

#[tokio::test]
async fn a_recovery_that_is_canceled_stops() {
    const DELIVERIES: usize = 1_500;
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let rule = all_failed(customer, &receiver, DELIVERIES).await;
    receiver.answer_with(200);
    let recover = format!("/v1/alert-rules/{rule}/recover");
    let made = ok(customer.post(&recover, &json!({"since": EVER})).await).await;
    let cancel = format!(
        "/v1/recoveries/{}/cancel",
        made["id"].as_str().expect("an id")
    );
    let canceled = ok(customer.post(&cancel, &json!({})).await).await;
    assert_eq!(canceled["state"], "canceled");
    // One that is asked for afterwards is done after it, and finds what the first left.
    let second = ok(customer.post(&recover, &json!({"since": EVER})).await).await;
    assert!(
        second["total"].as_u64().expect("a number") > 0,
        "the first was stopped"
    );
    recovery_in_state(customer, second["id"].as_str().expect("an id"), "done").await;
    let balance = balance_with(customer, &rule, "delivered", DELIVERIES).await;
    assert_eq!(balance["balanced"], true);
}
