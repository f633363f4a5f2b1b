//! The overview: events, deliveries and decisions over time, for people.

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::{Receiver, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, http, ok};
use crate::errors::problem;
use crate::people::Person;

const OVERVIEW: &str = "/v1/overview";

/// A key of the person's organization that may do anything.
async fn agent(person: &Person) -> Customer {
    let scopes: Vec<&str> = domain::account::Scope::ALL
        .iter()
        .map(|scope| scope.as_str())
        .collect();
    let wanted = json!({"name": "Test", "scopes": scopes});
    let made = ok(person.post("/v1/api-keys", &wanted).await).await;
    Customer {
        http: http(),
        base_url: person.base_url.clone(),
        api_key: made["api_key"].as_str().expect("a key").to_owned(),
    }
}

fn sum(buckets: &Value, field: &str) -> u64 {
    let buckets = buckets.as_array().expect("buckets");
    buckets
        .iter()
        .map(|bucket| bucket[field].as_u64().expect("a number"))
        .sum()
}

#[tokio::test]
async fn what_came_in_was_delivered_and_was_decided_is_counted() {
    let running = Running::start(Deployment::new());
    let person = Person::founder(&running.customer.base_url).await;
    let agent = agent(&person).await;
    let before = person.get_json(OVERVIEW).await;
    assert_eq!(before["deliveries"]["oldest_undelivered"], Value::Null);
    assert_eq!(before["decisions"]["total"], 0);
    assert_eq!(before["decisions"]["p99_us"], Value::Null);

    let receiver = Receiver::start().expect("a receiver");
    let rule = json!({"name": "Denied", "match": {"agent_id": ["agent-1"], "event_type": ["tool_call"]},
        "url": receiver.url()});
    agent.make_rule(&rule).await;
    agent.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let delivery = received[0].delivery_id().expect("an id").to_owned();
    agent.delivery_in_state(&delivery, "delivered").await;
    for _ in 0..3 {
        let question = json!({"agent_id": "agent-1", "action": "files.read"});
        ok(agent.post("/v1/runtime/decisions", &question).await).await;
    }

    let after = person
        .get_json(&format!("{OVERVIEW}?interval=minute"))
        .await;
    assert_eq!(after["interval"], "minute");
    assert_eq!(after["fresh"], true);
    let decisions = &after["decisions"];
    assert_eq!(decisions["total"], 3, "{after}");
    assert_eq!(decisions["allowed"], 3, "the starter allows everything");
    assert_eq!(decisions["measured"], 3);
    assert_eq!(decisions["complete"], true);
    let p50 = decisions["p50_us"].as_u64().expect("a time");
    let p99 = decisions["p99_us"].as_u64().expect("a time");
    assert!(0 < p50 && p50 <= p99 && p99 < 10_000_000, "{decisions}");
    assert_eq!(sum(&decisions["buckets"], "allowed"), 3);
    let deliveries = &after["deliveries"];
    assert_eq!(deliveries["delivered"], 1, "{deliveries}");
    assert_eq!(deliveries["pending"], 0);
    assert_eq!(
        (&deliveries["held"], &deliveries["overdue"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(deliveries["complete"], true);
    assert_eq!(sum(&deliveries["buckets"], "delivered"), 1);
    let events = &after["events"];
    assert_eq!(
        sum(&events["buckets"], "total"),
        events["total"].as_u64().expect("a number")
    );
    assert!(events["total"].as_u64() >= Some(4), "{events}");
    assert!(events["last_at"].is_string());
}

#[tokio::test]
async fn what_could_not_be_delivered_yet_is_told_with_the_oldest_first() {
    let running = Running::start(Deployment::new());
    let person = Person::founder(&running.customer.base_url).await;
    let agent = agent(&person).await;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_with(StatusCode::INTERNAL_SERVER_ERROR.as_u16());
    let rule =
        json!({"name": "Denied", "match": {"event_type": ["tool_call"]}, "url": receiver.url()});
    agent.make_rule(&rule).await;
    agent.ingest(&event("agent-1")).await;
    receiver.wait_for(1, DEADLINE).await;
    let shown = eventually(DEADLINE, "it is tried again later", async || {
        let shown = person.get_json(OVERVIEW).await;
        (shown["deliveries"]["pending"] == 1).then_some(shown)
    })
    .await;
    let listed = agent.get_json("/v1/deliveries").await;
    let oldest = &shown["deliveries"]["oldest_undelivered"];
    assert_eq!(oldest["id"], listed["data"][0]["id"], "{shown}");
    assert_eq!(oldest["matched_at"], listed["data"][0]["matched_at"]);
    assert_eq!(shown["deliveries"]["overdue"], 0, "it is young");
    let aged = "UPDATE deliveries SET matched_at = matched_at - interval '10 minutes'";
    running.deployment.sql(aged);
    let shown = person.get_json(OVERVIEW).await;
    assert_eq!(shown["deliveries"]["overdue"], 1, "{shown}");
    let endpoint = listed["data"][0]["endpoint_id"].as_str().expect("an id");
    let pause = format!("/v1/endpoints/{endpoint}/pause");
    ok(agent.post(&pause, &json!({})).await).await;
    let shown = eventually(DEADLINE, "it is held when it is due", async || {
        let shown = person.get_json(OVERVIEW).await;
        (shown["deliveries"]["held"] == 1).then_some(shown)
    })
    .await;
    let deliveries = &shown["deliveries"];
    assert_eq!(
        (&deliveries["held"], &deliveries["overdue"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(sum(&deliveries["buckets"], "held"), 1);
}

#[tokio::test]
async fn only_people_see_it_and_for_a_time_that_can_be_shown() {
    let running = Running::start(Deployment::new());
    problem(running.customer.get(OVERVIEW).await, 403).await;
    let person = Person::founder(&running.customer.base_url).await;
    for query in [
        "interval=week",
        "from=yesterday",
        "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
        "interval=hour&from=2020-01-01T00:00:00Z",
        "by=result",
    ] {
        let answer = person.get(&format!("{OVERVIEW}?{query}")).await;
        problem(answer, 400).await;
    }
}
