//! The trail says who wrote what: the server, or which API key; and no key writes for the server.

use std::slice;

use domain::{KeyId, event::reserved::RESERVED};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::Receiver;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, ok};
use crate::errors::{pointers, problem};
use crate::exports::lines;
use crate::load::wait_until_fresh;

const EVENTS: &str = "/v1/audit/events";

/// The only API key of a deployment, as events name it.
fn key_of(running: &Running) -> String {
    let uuid = running.deployment.sql("SELECT id FROM api_keys");
    KeyId::from_uuid(uuid.trim().parse().expect("an id")).to_string()
}

async fn ids(customer: &Customer, query: &str) -> Vec<String> {
    let page = customer.get_json(&format!("{EVENTS}?{query}")).await;
    let events = page["data"].as_array().expect("events").iter();
    let ids = events.map(|event| event["id"].as_str().expect("an id").to_owned());
    let mut ids: Vec<String> = ids.collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn every_event_says_whether_the_server_or_which_key_wrote_it() {
    let running = Running::start(Deployment::new());
    let (customer, key) = (&running.customer, key_of(&running));
    let receiver = Receiver::start().expect("a receiver");
    let decisions = json!({"source": ["server"], "event_type": ["decision"]});
    customer.rule(decisions, &receiver.url()).await;
    let sent = customer.ingest(&event("agent-1")).await;
    let question = json!({"agent_id": "agent-1", "action": "files.read"});
    let decision = customer.decide(&question).await;
    let decision = decision["decision_id"].as_str().expect("an id");
    let decided = decision.replace("dec_", "evt_");
    wait_until_fresh(customer, EVENTS).await;

    let one = customer.get_json(&format!("{EVENTS}/{sent}")).await;
    assert_eq!(one["source"], key.as_str());
    let one = customer.get_json(&format!("{EVENTS}/{decided}")).await;
    assert_eq!(one["source"], "server");

    let of_agent = "agent_id=agent-1";
    let by = async |source: &str| ids(customer, &format!("{of_agent}&source={source}")).await;
    assert_eq!(by("server").await, slice::from_ref(&decided));
    assert_eq!(by("key").await, slice::from_ref(&sent));
    assert_eq!(by(&key).await, slice::from_ref(&sent));
    assert!(by("key_01jcq3k5m8e9ratvw2x4y6z8ab").await.is_empty());
    let mut both = vec![decided, sent.clone()];
    both.sort_unstable();
    assert_eq!(by("server&source=key").await, both);
    let refused = customer.get(&format!("{EVENTS}?source=me")).await;
    assert_eq!(refused.status().as_u16(), 400);

    let wanted = json!({"agent_id": "agent-1", "source": "key"});
    let file = customer.post("/v1/audit/export", &wanted).await;
    let exported = lines(&file.bytes().await.expect("a file"));
    assert_eq!(exported[0]["id"], sent.as_str());
    assert_eq!(exported[0]["source"], key.as_str());
    let csv = json!({"agent_id": "agent-1", "source": "key", "format": "csv"});
    let file = customer.post("/v1/audit/export", &csv).await;
    let file = file.text().await.expect("a file");
    let (head, rest) = file.split_once("\r\n").expect("a header");
    assert!(head.ends_with(",source"), "{head}");
    assert!(rest.trim_end().ends_with(key.as_str()), "{rest}");

    let received = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].json()["event"]["source"], "server");
}

#[tokio::test]
async fn nobody_says_for_the_server_who_wrote_an_event() {
    let running = Running::start(Deployment::new());
    let mut forged = event("agent-1");
    forged["source"] = json!("server");
    let refused = running.customer.post(EVENTS, &forged).await;
    let refused = problem(refused, 422).await;
    assert_eq!(pointers(&refused), ["/source"]);
}

#[tokio::test]
async fn no_door_takes_an_event_that_only_the_server_writes() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let of = |event_type: &str| {
        let mut event = event("agent-1");
        event["event_type"] = json!(event_type);
        event
    };
    for event_type in RESERVED {
        let refused = customer.post(EVENTS, &of(event_type)).await;
        let refused = problem(refused, 422).await;
        assert_eq!(pointers(&refused), ["/event_type"], "{event_type}");
    }
    let all: Vec<Value> = RESERVED.into_iter().chain(["tool_call"]).map(of).collect();
    let answer = ok(customer.post(EVENTS, &json!({ "events": all })).await).await;
    assert_eq!(answer["ingested"], 1, "{answer}");
    assert_eq!(
        answer["rejected"].as_array().map(Vec::len),
        Some(RESERVED.len())
    );

    let forged = of("approval");
    let cloud =
        json!({"specversion": "1.0", "id": "1", "source": "/a", "type": "t", "data": forged});
    for (media_type, body, pointer) in [
        ("application/x-ndjson", forged.to_string(), "/0/event_type"),
        (
            "application/cloudevents+json",
            cloud.to_string(),
            "/data/event_type",
        ),
    ] {
        let request = customer.request(Method::POST, EVENTS);
        let request = request.header("Content-Type", media_type).body(body);
        let refused = problem(request.send().await.expect("an answer"), 422).await;
        assert_eq!(pointers(&refused), [pointer]);
    }
    let named = customer.named(EVENTS, "login-1", &of("login"));
    problem(named.send().await.expect("an answer"), 422).await;
    wait_until_fresh(customer, EVENTS).await;
    assert_eq!(customer.all_events().await.len(), 1);
}

#[tokio::test]
async fn the_event_of_a_test_delivery_is_nobodys() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let pattern = json!({"event_type": ["integrity"], "source": ["server"]});
    let rule = customer.rule(pattern, &receiver.url()).await;
    let trigger = format!("/v1/alert-rules/{rule}/trigger");
    let given = json!({"event": {"event_type": "integrity", "agent_id": "a",
        "action": "decision.disobeyed", "result": "violation"}});
    for body in [json!({}), given] {
        let answer: Value = ok(customer.post(&trigger, &body).await).await;
        assert_eq!(answer["matches"], false, "the server did not write it");
    }
    for delivery in receiver.wait_for(2, DEADLINE).await {
        let event = &delivery.json()["event"];
        assert_eq!(event["source"], "test");
        assert_eq!(event["event_type"], "integrity");
    }
}
