//! Sent again: a request with a name gets the same answer, an event with one is listed and alerts
//! once, whichever node takes it and whatever died in between.

use domain::{KeyId, OrgId, Timestamp, batch::Form, idempotency};
use journal::dedup::RequestMark;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::{Receiver, eventually, own};

use crate::api_keys::{make, with_key};
use crate::deployment::{DEADLINE, Deployment, Running, answered, event};
use crate::errors::refused;
use crate::load::{named_event, wait_until_fresh};
use crate::people::Person;

const INGEST: &str = "/v1/audit/events";

#[tokio::test]
async fn a_named_request_gets_the_same_answer_on_another_node_and_after_a_restart() {
    let deployment = Deployment::new();
    let mut one = deployment.serve("api,index");
    let mut other = deployment.serve("api");
    let customer = deployment.customer(&mut one);
    let batch = json!({"events": [event("a"), {"color": 1}, event("b"), event("b")]});
    let (first, is_replayed) = answered(customer.named(INGEST, "retry 1", &batch)).await;
    assert!(!is_replayed);
    assert_eq!(first["ingested"], 3);

    let elsewhere = customer.at(&mut other);
    assert_eq!(
        answered(elsewhere.named(INGEST, "retry 1", &batch)).await,
        (first.clone(), true)
    );
    other.kill();
    let mut restarted = deployment.serve("api");
    let elsewhere = customer.at(&mut restarted);
    assert_eq!(
        answered(elsewhere.named(INGEST, "retry 1", &batch)).await,
        (first.clone(), true)
    );
    // Packed otherwise it says the same.
    let packed = elsewhere
        .request(Method::POST, INGEST)
        .header("Idempotency-Key", "retry 1")
        .header("Content-Type", "application/json")
        .header("Content-Encoding", "gzip")
        .body(crate::ingest::gzip(batch.to_string().as_bytes()));
    assert_eq!(answered(packed).await, (first.clone(), true));

    let (second, is_replayed) = answered(customer.named(INGEST, "retry 2", &batch)).await;
    assert!(!is_replayed);
    assert_ne!(first["events"], second["events"]);
    wait_until_fresh(&customer, INGEST).await;
    assert_eq!(customer.all_events().await.len(), 6, "each is listed once");
}

#[tokio::test]
async fn a_name_that_came_with_another_body_is_refused_and_a_mended_request_is_not() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let batch = json!({"events": [event("a"), {"color": 1}]});
    answered(customer.named(INGEST, "k", &batch)).await;
    let code = "IDEMPOTENCY_MISMATCH";
    let other = json!({"events": [event("b")]});
    refused(customer.named(INGEST, "k", &other), 422, code).await;
    let bad = json!({"events": [7]});
    refused(customer.named(INGEST, "k", &bad), 422, code).await;
    let atomic = customer
        .request(Method::POST, "/v1/audit/events?atomic=true")
        .header("Idempotency-Key", "k")
        .json(&batch);
    refused(atomic, 422, code).await;

    refused(
        customer.named(INGEST, "mended", &bad),
        422,
        "VALIDATION_FAILED",
    )
    .await;
    let (_, is_replayed) = answered(customer.named(INGEST, "mended", &other)).await;
    assert!(!is_replayed, "nothing was recorded under this name before");

    let code = "INVALID_PARAMETER";
    for key in ["", &"x".repeat(129), "a\tb"] {
        refused(customer.named(INGEST, key, &other), 400, code).await;
    }
    let twice = customer
        .named(INGEST, "a", &other)
        .header("Idempotency-Key", "a");
    refused(twice, 400, code).await;
    answered(customer.named(INGEST, &"x".repeat(128), &other)).await;
    assert_eq!(customer.all_events().await.len(), 3);
}

#[tokio::test]
async fn a_request_whose_node_died_before_the_events_were_durable_is_completed_by_its_repetition() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let body = json!({"events": [event("a"), event("b")]});
    // What a node that died between the mark and the append leaves behind.
    let received_at = Timestamp::parse("2026-11-15T08:00:00Z").expect("a time");
    let mark = RequestMark {
        fingerprint: idempotency::fingerprint(Form::Json, false, body.to_string().as_bytes()),
        received_at,
    };
    let uuid = |sql: &str| running.deployment.sql(sql).trim().parse().expect("an id");
    let org = OrgId::from_uuid(uuid("SELECT id FROM organisations"));
    let sender = KeyId::from_uuid(uuid("SELECT id FROM api_keys")).to_string();
    let name = idempotency::RequestName::new(org, &sender, "k").expect("a name");
    let journal = running.deployment.journal().await;
    journal.mark_request(&name, &mark).await.expect("marked");

    let (answer, is_replayed) = answered(customer.named(INGEST, "k", &body)).await;
    assert!(is_replayed);
    assert_eq!(answer["ingested"], 2);
    let listed = customer.all_events().await;
    assert_eq!(listed.len(), 2);
    for event in listed {
        assert_eq!(event["received_at"], received_at.to_string());
    }
}

#[tokio::test]
async fn an_event_sent_again_alerts_once_though_the_queue_has_forgotten_it() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;
    let by_event = named_event("agent-1", "event-1");
    let by_request = json!({"events": [event("agent-2")]});
    let send_both = async || {
        let one = customer.post(INGEST, &by_event).await;
        assert_eq!(one.status(), StatusCode::ACCEPTED);
        answered(customer.named(INGEST, "request-1", &by_request)).await;
    };
    send_both().await;
    receiver.wait_for(2, DEADLINE).await;
    eventually(DEADLINE, "both are on record as delivered", async || {
        let deliveries = customer.all_deliveries().await;
        let is_delivered = |one: &&Value| one["state"] == "delivered";
        deliveries.iter().filter(is_delivered).count() == 2
    })
    .await;

    // The queue knows the ids of what it holds; what was settled it forgets when it starts again, as it
    // does after two minutes.
    nats.stop();
    nats.restart().expect("NATS starts again");
    eventually(DEADLINE, "ingest works again", async || {
        let mut unwatched = event("agent-0");
        unwatched["result"] = json!("success");
        let answer = customer.post(INGEST, &unwatched).await;
        answer.status() == StatusCode::ACCEPTED
    })
    .await;
    send_both().await;
    // What comes behind in the same partition was judged after both.
    customer.ingest(&event("agent-3")).await;
    eventually(DEADLINE, "the last one is delivered", async || {
        let received = receiver.received();
        received
            .iter()
            .any(|one| one.json()["event"]["agent_id"] == "agent-3")
    })
    .await;
    let mut agents: Vec<String> = receiver
        .received()
        .iter()
        .map(|one| {
            one.json()["event"]["agent_id"]
                .as_str()
                .expect("an agent")
                .to_owned()
        })
        .collect();
    agents.sort_unstable();
    assert_eq!(agents, ["agent-1", "agent-2", "agent-3"]);
    wait_until_fresh(&customer, "/v1/deliveries").await;
    assert_eq!(customer.all_deliveries().await.len(), 3);
}

#[tokio::test]
async fn a_name_is_its_senders_own_and_what_alerts_is_what_is_listed() {
    let deployment = Deployment::new();
    let mut server = deployment.serve_all();
    let base_url = server.url(DEADLINE);
    let owner = Person::founder(&base_url).await;
    let scopes = ["events:write", "events:read", "rules:write"];
    let one = make(&owner, &json!({"name": "one", "scopes": scopes})).await;
    let one = with_key(&base_url, &one);
    let other = make(&owner, &json!({"name": "other", "scopes": scopes})).await;
    let other = with_key(&base_url, &other);
    let receiver = Receiver::start().expect("a receiver");
    let pattern = json!({"event_type": ["tool_call"]});
    one.rule(pattern, &receiver.url()).await;

    let harmless = named_event("agent-1", "call-1");
    let mut harmful = harmless.clone();
    harmful["action"] = json!("files.wipe");
    let mut sent = Vec::new();
    for customer in [&one, &other] {
        for event in [&harmless, &harmful] {
            sent.push(customer.ingest(event).await);
        }
    }
    assert_eq!(
        one.ingest(&harmless).await,
        sent[0],
        "sent again by its key"
    );
    let mut apart = sent.clone();
    apart.sort_unstable();
    apart.dedup();
    assert_eq!(apart.len(), 4, "nobody's event is taken for another");

    wait_until_fresh(&one, INGEST).await;
    let received = receiver.wait_for(4, DEADLINE).await;
    for delivery in &received {
        let alerted = &delivery.json()["event"];
        let id = alerted["id"].as_str().expect("an id");
        let listed = one.get_json(&format!("{INGEST}/{id}")).await;
        assert_eq!(*alerted, listed, "what was judged is what is stored");
    }
    let mut alerted: Vec<String> = received
        .iter()
        .map(|one| {
            one.json()["event"]["id"]
                .as_str()
                .expect("an id")
                .to_owned()
        })
        .collect();
    alerted.sort_unstable();
    assert_eq!(alerted, apart);
}
