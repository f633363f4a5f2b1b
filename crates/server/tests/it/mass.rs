//! Many rules, many events, one request: what one message sets off is larger than what may wait.

use std::collections::HashSet;

use serde_json::{Value, json};
use testkit::Receiver;

use crate::deployment::{DEADLINE, Deployment, ok};
use crate::in_hand::until_nothing_is_queued;

#[tokio::test]
async fn a_batch_that_matches_more_than_may_wait_for_the_journal_is_delivered_whole() {
    /// With addresses of 2,000 bytes, 17,000 matches are 37 MB on record; 32 MiB may wait.
    const RULES: usize = 17;
    const EVENTS: usize = 1_000;
    let deployment = Deployment::new();
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let long_url = format!("{}?padding={}", receiver.url(), "x".repeat(1_950));
    for _ in 0..RULES {
        customer.rule(json!({"result": ["mass"]}), &long_url).await;
    }
    let event = |number: usize| json!({"event_type": "tool_call", "agent_id": number.to_string(), "action": "a.b", "result": "mass"});
    let events: Vec<Value> = (0..EVENTS).map(event).collect();
    ok(customer
        .post("/v1/audit/events", &json!({"events": events}))
        .await)
    .await;

    let received = receiver.wait_for(RULES * EVENTS, 4 * DEADLINE).await;
    let pairs: HashSet<_> = received
        .iter()
        .map(|one| (one.rule_id(), one.event_id()))
        .collect();
    assert_eq!(pairs.len(), RULES * EVENTS);
    until_nothing_is_queued(&deployment).await;
    assert_eq!(receiver.count(), pairs.len(), "nobody died: each came once");
}
