//! The straight line: one event from POST to a verified webhook and back into the delivery log.

use serde_json::json;
use testkit::Receiver;

use crate::deployment::{DEADLINE, Deployment, event};

#[tokio::test]
async fn a_denied_tool_call_reaches_the_receiver_and_its_attempt_is_on_record() {
    let deployment = Deployment::new();
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;

    let id = customer.ingest(&event("agent-1")).await;

    let received = receiver.wait_for(1, DEADLINE).await;
    let body = received[0].json();
    assert_eq!(body["rule_id"], rule);
    assert_eq!(body["event"]["id"], id);
    let delivery_id = received[0].delivery_id().expect("a delivery id").to_owned();
    let delivery = customer.delivery_in_state(&delivery_id, "delivered").await;
    assert_eq!(delivery["attempt_log"][0]["status"], 200);
    assert_eq!(delivery["attempt_log"][0]["outcome"], "delivered");
}
