//! Decisions that were not obeyed ring the bell.

use serde_json::{Value, json};
use testkit::{Receiver, eventually};
use webhook_signature::Verifier;

use crate::{
    decisions::PAYMENTS,
    deployment::{Customer, DEADLINE, Deployment, Running, SECRET},
    errors::problem,
};

/// What was decided about a payment of an agent of this name.
async fn decided(customer: &Customer, agent: &str, account: &str) -> Value {
    decided_of(customer, agent, account, 10).await
}

async fn decided_of(customer: &Customer, agent: &str, account: &str, amount: u32) -> Value {
    let question = json!({
        "agent_id": agent, "action": "payments.refund", "resource": format!("account:{account}"),
        "context": {"amount": amount},
    });
    customer.decide(&question).await["decision_id"].clone()
}

fn done(agent: &str, decision: &Value, result: &str) -> Value {
    json!({
        "event_type": "tool_call", "agent_id": agent, "action": "payments.refund", "result": result,
        "session_id": "session-1", "decision_id": decision,
    })
}

async fn findings(customer: &Customer) -> Vec<Value> {
    let page = customer
        .get_json("/v1/audit/events?event_type=integrity")
        .await;
    page["data"].as_array().expect("data").clone()
}

#[tokio::test]
async fn what_is_done_though_it_was_denied_reaches_the_receiver_signed_and_nothing_else_does() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(PAYMENTS).await;
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"event_type": ["integrity"]}), &receiver.url())
        .await;

    let allowed = decided(customer, "obedient", "1").await;
    let denied = decided(customer, "obedient", "blocked").await;
    customer
        .ingest(&done("obedient", &allowed, "success"))
        .await;
    customer.ingest(&done("obedient", &denied, "denied")).await;
    let disobeyed = decided(customer, "rogue", "blocked").await;
    let event = customer.ingest(&done("rogue", &disobeyed, "success")).await;

    let received = receiver.wait_for(1, DEADLINE).await;
    let verified = Verifier::new([SECRET]).verify(
        received[0].header("x-service-timestamp"),
        received[0].header("x-service-signature"),
        &received[0].body,
        received[0].arrived_at,
    );
    assert_eq!(verified, Ok(()));
    let alert = received[0].json()["event"].clone();
    let expected = [
        ("event_type", json!("integrity")),
        ("agent_id", json!("rogue")),
        ("action", json!("decision.disobeyed")),
        ("result", json!("violation")),
        ("severity", json!("critical")),
        ("session_id", json!("session-1")),
        ("decision_id", disobeyed),
    ];
    for (field, value) in expected {
        assert_eq!(alert[field], value, "{alert}");
    }
    assert_eq!(alert["metadata"]["event_id"], event);
    assert_eq!(alert["metadata"]["decided"], "denied");
    assert_eq!(alert["metadata"]["action"], "payments.refund");
    // Those of the obedient agent came before it, and would have been found before it.
    assert_eq!(findings(customer).await, [alert]);
}

#[tokio::test]
async fn a_log_that_is_read_again_from_its_start_finds_nothing_twice() {
    let deployment = Deployment::new();
    let mut api = deployment.serve("api");
    let customer = deployment.customer(&mut api);
    let index = deployment.serve("index");
    customer.put_in_force(PAYMENTS).await;
    let denied = decided(&customer, "rogue", "blocked").await;
    customer.ingest(&done("rogue", &denied, "success")).await;
    let found = eventually(DEADLINE, "it is found", async || {
        let found = findings(&customer).await;
        (!found.is_empty()).then_some(found)
    })
    .await;
    drop(index);
    // As if the database had been put back to before all of it.
    deployment
        .sql("DELETE FROM journal_watermark; DELETE FROM audit_events; DELETE FROM event_counts");
    let _index = deployment.serve("index");
    let again = eventually(DEADLINE, "it is found again", async || {
        let found = findings(&customer).await;
        let to_tell = deployment.sql("SELECT count(*) FROM integrity_findings");
        (!found.is_empty() && to_tell.trim() == "0").then_some(found)
    })
    .await;
    assert_eq!(again, found, "the same event, once");
}

#[tokio::test]
async fn what_a_person_had_to_approve_is_found_unless_they_did() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(PAYMENTS).await;
    let approved = decided_of(customer, "patient", "1", 2000).await;
    let pending = decided_of(customer, "hasty", "1", 2000).await;
    let id = approved.as_str().expect("an id");
    customer.resolve(id, &json!({"approve": true})).await;
    customer
        .ingest(&done("patient", &approved, "success"))
        .await;
    customer.ingest(&done("hasty", &pending, "success")).await;
    // Nobody who may send events can say that it was approved.
    let forged = json!({
        "event_type": "approval", "agent_id": "hasty", "action": "payments.refund",
        "result": "approved", "decision_id": pending,
    });
    problem(customer.post("/v1/audit/events", &forged).await, 422).await;
    let count = "SELECT count(*) FROM integrity_findings";
    eventually(DEADLINE, "both wait for word of an approval", async || {
        (running.deployment.sql(count).trim() == "2").then_some(())
    })
    .await;
    assert_eq!(findings(customer).await, Vec::<Value>::new());
    running
        .deployment
        .sql("UPDATE integrity_findings SET due_at = due_at - interval '1 minute'");
    let found = eventually(DEADLINE, "one of them is told of", async || {
        let found = findings(customer).await;
        let is_done = running.deployment.sql(count).trim() == "0";
        (is_done && !found.is_empty()).then_some(found)
    })
    .await;
    let [found] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(found["decision_id"], pending);
    assert_eq!(found["metadata"]["decided"], "escalated");
}

#[tokio::test]
async fn every_event_that_names_a_decision_is_told_of_while_others_of_it_wait() {
    let running = Running::start(Deployment::new());
    let (customer, deployment) = (&running.customer, &running.deployment);
    customer.put_in_force(PAYMENTS).await;
    let pending = decided_of(customer, "hasty", "1", 2000).await;
    let mut done_by = Vec::new();
    for _ in 0..3 {
        done_by.push(customer.ingest(&done("hasty", &pending, "success")).await);
    }
    // A list waits until they are indexed, and so found.
    customer.get_json("/v1/audit/events?limit=1").await;
    deployment.sql("UPDATE integrity_findings SET due_at = due_at - interval '1 minute'");
    let mut told = eventually(DEADLINE, "all of them are told of", async || {
        let found = findings(customer).await;
        let event = |found: &Value| found["metadata"]["event_id"].as_str().map(str::to_owned);
        let told: Vec<String> = found.iter().filter_map(event).collect();
        if told.len() == done_by.len() {
            Ok(told)
        } else {
            Err(told)
        }
    })
    .await;
    told.sort_unstable();
    done_by.sort_unstable();
    assert_eq!(told, done_by);
}
