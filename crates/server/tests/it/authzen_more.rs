//! What AuthZEN does not have and we do: approvals that are spent, and bodies that are bounded.

use serde_json::json;

use crate::{
    authzen::{MANY, ONE, alice, decisions, fixture, name, question, record, with},
    decisions::PAYMENTS,
    deployment::{Deployment, Running, ok},
    errors::problem,
};

#[tokio::test]
async fn what_a_person_approved_is_allowed_once_by_the_same_question() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(PAYMENTS).await;
    let ask = json!({
        "subject": {"type": "agent", "id": "billing", "properties": {"team": "finance"}},
        "action": {"name": "payments.refund", "properties": {"retry": false}},
        "resource": {"type": "account", "id": "1", "properties": {"status": "open"}},
        "context": {"amount": 2000},
    });
    let escalated = ok(customer.post(ONE, &ask).await).await;
    let id = escalated["context"]["access_request"]["decision_id"].clone();
    let id = id.as_str().expect("an id");
    customer.resolve(id, &json!({"approve": true})).await;
    let approved = with(ask.clone(), "approval", json!(id));
    let batch = json!({"evaluations": [approved, approved]});
    assert_eq!(decisions(customer, &batch).await, [true, false]);
    let wrong = with(ask, "approval", json!("dec_none"));
    problem(customer.post(ONE, &wrong).await, 400).await;
}

#[tokio::test]
async fn a_body_is_as_large_as_its_questions_may_be_and_what_is_shared_counts_for_each() {
    let running = fixture().await;
    let customer = &running.customer;
    let first = question(alice(), name("read"), record(1));
    let padded = |bytes: usize| with(first.clone(), "ignored", json!("x".repeat(bytes)));
    ok(customer.post(ONE, &padded(50_000)).await).await;
    problem(customer.post(ONE, &padded(65_536)).await, 413).await;
    let many = |bytes: usize| json!({"evaluations": [padded(bytes)]});
    ok(customer.post(MANY, &many(200_000)).await).await;
    problem(customer.post(MANY, &many(262_144)).await, 413).await;
    let mut shared = with(first.clone(), "context", json!({"a": "x".repeat(200_000)}));
    shared["evaluations"] = json!(vec![json!({}); 100]);
    problem(customer.post(MANY, &shared).await, 413).await;
}
