//! A rule's endpoint is tried out by a real delivery that says it is a test.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::{Answer, Receiver};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, answered, event, ok};
use crate::errors::problem;

/// Triggers a rule; what was answered.
async fn triggered(customer: &Customer, rule: &str, body: &Value) -> Value {
    let path = format!("/v1/alert-rules/{rule}/trigger");
    let answer = customer.post(&path, body).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    ok(answer).await
}

fn id(answer: &Value) -> String {
    answer["delivery_id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_test_delivery_is_signed_says_that_it_is_a_test_and_is_in_the_log() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let pattern = json!({"result": ["denied"], "metadata": {"amount": [500]}});
    let rule = customer.rule(pattern, &receiver.url()).await;
    let answer = triggered(customer, &rule, &json!({})).await;
    assert_eq!(
        answer["matches"], true,
        "the sample is made to fit: {answer}"
    );
    let received = receiver.wait_for(1, DEADLINE).await;
    let delivery = &received[0];
    assert_eq!(delivery.delivery_id(), Some(id(&answer).as_str()));
    assert_eq!(delivery.header("x-service-trigger"), Some("test"));
    assert_eq!(delivery.header("x-service-attempt"), Some("1"));
    assert!(delivery.header("x-service-signature").is_some());
    let body = delivery.json();
    assert_eq!(body["rule_id"], rule.as_str());
    assert_eq!(body["event"]["result"], "denied");
    assert_eq!(body["event"]["metadata"]["amount"], 500);
    let logged = customer.delivery_in_state(&id(&answer), "delivered").await;
    assert_eq!(logged["cause"], "test", "{logged}");
    assert_eq!(logged["rule_id"], rule.as_str());
    assert_eq!(logged["attempt_log"][0]["trigger"], "test", "{logged}");
    assert!(
        customer.all_events().await.is_empty(),
        "a sample is no event of the trail"
    );
    let shown = customer.get_json(&format!("/v1/alert-rules/{rule}")).await;
    assert_eq!(
        shown["stats"]["matched_24h"], 0,
        "it counts nowhere: {shown}"
    );
    assert_eq!(shown["stats"]["last_matched_at"], Value::Null, "{shown}");
}

#[tokio::test]
async fn a_trigger_that_is_sent_again_with_its_key_sends_no_second_delivery() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let path = format!("/v1/alert-rules/{rule}/trigger");
    let send = async |body: Value| {
        let request = customer.request(Method::POST, &path);
        let request = request.header("idempotency-key", "once").json(&body);
        request.send().await.expect("an answer")
    };
    let first = id(&ok(send(json!({})).await).await);
    customer.delivery_in_state(&first, "delivered").await;
    assert_eq!(id(&ok(send(json!({})).await).await), first);
    problem(send(json!({"event": event("other")})).await, 422).await;
    // Had there been a second, it would have come before this one.
    let last = id(&triggered(customer, &rule, &json!({})).await);
    customer.delivery_in_state(&last, "delivered").await;
    assert_eq!(customer.all_deliveries().await.len(), 2);
    assert_eq!(receiver.wait_for(2, DEADLINE).await.len(), 2);
}

#[tokio::test]
async fn a_trigger_that_is_sent_again_while_its_delivery_is_under_way_makes_one_send() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::status(200).after(Duration::from_millis(1_500)));
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let path = format!("/v1/alert-rules/{rule}/trigger");
    for (name, body) in [
        ("sample", json!({})),
        ("given", json!({"event": event("a")})),
    ] {
        let mut ids = Vec::new();
        for _ in 0..3 {
            let (answer, _) = answered(customer.named(&path, name, &body)).await;
            ids.push(id(&answer));
        }
        assert_eq!(ids, vec![ids[0].clone(); 3], "one delivery");
        customer.delivery_in_state(&ids[0], "delivered").await;
    }
    running.deployment.queue_is_empty().await;
    assert_eq!(receiver.count(), 2, "each was sent once");
    assert_eq!(customer.all_deliveries().await.len(), 2);
}

#[tokio::test]
async fn a_test_delivery_carries_the_event_given_or_stored_whether_the_rule_wants_it_or_not() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let stored = customer.ingest(&event("stored")).await;
    let rule = customer
        .rule(json!({"agent_id": ["given"]}), &receiver.url())
        .await;
    let answer = triggered(customer, &rule, &json!({"event": event("given")})).await;
    assert_eq!(answer["matches"], true);
    receiver.wait_for(1, DEADLINE).await;
    let answer = triggered(customer, &rule, &json!({"event_id": stored})).await;
    assert_eq!(answer["matches"], false);
    let received = receiver.wait_for(2, DEADLINE).await;
    assert_eq!(received[0].json()["event"]["agent_id"], "given");
    assert_eq!(received[1].event_id().as_deref(), Some(stored.as_str()));
    assert_ne!(received[0].delivery_id(), received[1].delivery_id());
}

#[tokio::test]
async fn a_disabled_rule_can_be_triggered_and_a_receiver_that_fails_is_tried_again() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_sequence([500, 200]);
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let path = format!("/v1/alert-rules/{rule}");
    let off = customer
        .request(Method::PATCH, &path)
        .json(&json!({"enabled": false}));
    ok(off.send().await.expect("an answer")).await;
    let answer = triggered(customer, &rule, &json!({})).await;
    let logged = customer.delivery_in_state(&id(&answer), "delivered").await;
    let triggers: Vec<&str> = logged["attempt_log"]
        .as_array()
        .expect("attempts")
        .iter()
        .map(|attempt| attempt["trigger"].as_str().expect("a text"))
        .collect();
    assert_eq!(triggers, ["test", "retry"], "{logged}");
}

#[tokio::test]
async fn what_cannot_be_delivered_is_refused_and_what_is_foreign_is_not_found() {
    let mut running = Running::start(Deployment::new());
    let other = running.deployment.customer(&mut running.server);
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let path = format!("/v1/alert-rules/{rule}/trigger");
    let stored = customer.ingest(&event("mine")).await;
    let foreign = other.ingest(&event("theirs")).await;
    for (body, pointer) in [
        (json!({"event": {"agent_id": "a"}}), "/event/event_type"),
        (json!({"event": event("a"), "event_id": stored}), "/event"),
    ] {
        let refused = problem(customer.post(&path, &body).await, 422).await;
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{refused}");
    }
    let body = json!({ "event_id": foreign });
    problem(customer.post(&path, &body).await, 404).await;
    problem(other.post(&path, &json!({})).await, 404).await;
    let answer = triggered(customer, &rule, &json!({})).await;
    let delivery = format!("/v1/deliveries/{}", id(&answer));
    customer.delivery_in_state(&id(&answer), "delivered").await;
    problem(other.get(&delivery).await, 404).await;
}
