//! Decisions are part of the trail.

use domain::account::ApiKey;
use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::Receiver;

use crate::deployment::{DEADLINE, Deployment, Running};
use crate::errors::problem;

#[tokio::test]
async fn a_decision_is_recorded_before_it_is_answered_and_rules_see_it() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let watched = json!({"event_type": ["decision"]});
    customer.rule(watched, &receiver.url()).await;
    let question = json!({
        "agent_id": "billing-agent", "action": "payments.refund", "resource": "invoice:4711",
        "context": {"amount": 250},
    });
    let answer = customer.post("/v1/runtime/decisions", &question).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let decision: Value = answer.json().await.expect("JSON");
    assert_eq!(decision["decision"], "allow");
    assert_eq!(decision["policies"][0]["id"], "allow-all");
    let listed = customer.all_events().await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["decision_id"], decision["decision_id"]);
    assert_eq!(listed[0]["result"], "allowed");
    assert_eq!(listed[0]["metadata"]["question"]["context"]["amount"], 250);
    let received = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].json()["event"], listed[0]);
}

#[tokio::test]
async fn a_question_that_cannot_be_recorded_is_not_answered() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let refused = [
        (json!({"agent_id": "", "action": "a.b"}), "/agent_id"),
        (json!({"agent_id": "a", "action": "refund"}), "/action"),
        (
            json!({"agent_id": "a", "action": "a.b", "resource": "x".repeat(257)}),
            "/resource",
        ),
        (
            json!({"agent_id": "a", "action": "a.b", "context": {"x": "y".repeat(20_000)}}),
            "/context",
        ),
    ];
    for (question, pointer) in refused {
        let answer = customer.post("/v1/runtime/decisions", &question).await;
        let problem = problem(answer, 422).await;
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    }
    let unknown = ApiKey::new([9; 20]).reveal().to_owned();
    let stranger = crate::deployment::Customer {
        api_key: unknown,
        ..customer.clone()
    };
    let question = json!({"agent_id": "a", "action": "a.b"});
    let answer = stranger.post("/v1/runtime/decisions", &question).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert!(customer.all_events().await.is_empty());
}
