//! Approvals as they happen: people see all of them, an agent follows its own.

use serde_json::{Value, json};

use crate::{
    approvals::refund,
    decisions::PAYMENTS,
    deployment::{Customer, Deployment, Running},
    tail::{Stream, patient},
};

async fn stream(customer: &Customer, path: &str) -> Stream {
    let url = format!("{}{path}", customer.base_url);
    Stream::from(patient().get(url).bearer_auth(&customer.api_key)).await
}

/// The next approval of a stream: its id and how it stands.
async fn next(stream: &mut Stream) -> Option<(String, Value)> {
    let message = stream.next().await?;
    assert_eq!(message.event, "approval");
    let approval = message.json();
    assert_eq!(approval["decision_id"], message.id);
    assert!(approval.get("question").is_none(), "in short");
    Some((message.id.clone(), approval["decision"].clone()))
}

#[tokio::test]
async fn people_see_what_waits_and_how_it_ends_on_whichever_node_it_happens() {
    let deployment = Deployment::new();
    let mut nodes = [deployment.serve_all(), deployment.serve("api")];
    let customer = deployment.customer(&mut nodes[0]);
    let other = deployment.customer(&mut nodes[0]);
    for customer in [&customer, &other] {
        customer.approve_alone().await;
        customer.put_in_force(PAYMENTS).await;
    }
    let there = customer.at(&mut nodes[1]);
    let first = customer.escalate(&refund()).await;
    other.escalate(&refund()).await;
    let mut seen = stream(&there, "/v1/runtime/approvals/stream").await;
    let waits = |id: &str| Some((id.to_owned(), json!("escalate")));
    assert_eq!(next(&mut seen).await, waits(&first), "what is pending");
    let second = customer.escalate(&refund()).await;
    assert_eq!(next(&mut seen).await, waits(&second));
    customer.resolve(&first, &json!({"approve": false})).await;
    assert_eq!(next(&mut seen).await, Some((first, json!("deny"))));
    there.resolve(&second, &json!({"approve": true})).await;
    assert_eq!(
        next(&mut seen).await,
        Some((second.clone(), json!("allow")))
    );
    let third = customer.escalate(&refund()).await;
    assert_eq!(
        next(&mut seen).await,
        waits(&third),
        "that it was told is no news"
    );
}

#[tokio::test]
async fn an_agent_follows_its_decision_until_it_ends() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(PAYMENTS).await;
    let id = customer.escalate(&refund()).await;
    let path = format!("/v1/runtime/decisions/{id}/stream");
    let mut followed = stream(customer, &path).await;
    let told = |decision: &str| Some((id.clone(), json!(decision)));
    assert_eq!(next(&mut followed).await, told("escalate"));
    let others = customer.escalate(&refund()).await;
    customer.resolve(&others, &json!({"approve": false})).await;
    customer.resolve(&id, &json!({"approve": true})).await;
    assert_eq!(next(&mut followed).await, told("allow"));
    assert_eq!(next(&mut followed).await, None);

    let mut afterwards = stream(customer, &path).await;
    assert_eq!(next(&mut afterwards).await, told("allow"));
    assert_eq!(next(&mut afterwards).await, None);
}
