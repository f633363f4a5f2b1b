//! Alert rules change, and the next event meets the rule as it is now.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::Receiver;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, ok};
use crate::errors::problem;

async fn send(customer: &Customer, method: Method, path: &str, body: &Value) -> reqwest::Response {
    let request = customer.request(method, path).json(body);
    request.send().await.expect("an answer")
}

#[tokio::test]
async fn a_rule_judges_the_next_event_as_it_is_after_put_patch_and_delete() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let (first, second) = (Receiver::start(), Receiver::start());
    let (first, second) = (first.expect("a receiver"), second.expect("a receiver"));
    let rule = customer
        .rule(json!({"result": ["denied"]}), &first.url())
        .await;
    let path = format!("/v1/alert-rules/{rule}");

    let moved = json!({"name": "Moved", "match": {"agent_id": ["a"]}, "url": second.url()});
    let answer = ok(send(customer, Method::PUT, &path, &moved).await).await;
    assert_eq!(answer["version"], 2, "{answer}");
    assert_eq!(answer["name"], "Moved", "{answer}");
    customer.ingest(&event("b")).await;
    customer.ingest(&event("a")).await;
    let received = second.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].json()["rule_name"], "Moved");
    assert_eq!(received[0].json()["event"]["agent_id"], "a");

    let paused = json!({"enabled": false, "description": "for now"});
    let answer = customer.patch(&path, &paused).await;
    assert_eq!(answer["version"], 3, "{answer}");
    assert_eq!(answer["name"], "Moved", "a field that is not given stays");
    assert_eq!(answer["description"], "for now", "{answer}");
    customer.ingest(&event("a")).await;
    let again = json!({"enabled": null, "description": null, "match": {"agent_id": ["c"]}});
    let answer = customer.patch(&path, &again).await;
    assert_eq!(answer["enabled"], true, "null stands for the default");
    assert_eq!(answer["description"], Value::Null, "{answer}");
    customer.ingest(&event("c")).await;
    let received = second.wait_for(2, DEADLINE).await;
    assert_eq!(received[1].json()["event"]["agent_id"], "c");

    customer.delete(&path).await;
    customer.ingest(&event("c")).await;
    let watcher = customer
        .rule(json!({"agent_id": ["last"]}), &first.url())
        .await;
    customer.ingest(&event("last")).await;
    let received = first.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].json()["rule_id"], watcher.as_str());
    assert_eq!(second.count(), 2, "nothing came of what no rule matched");
    for method in [Method::GET, Method::PUT, Method::PATCH, Method::DELETE] {
        let response = send(customer, method.clone(), &path, &moved).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{method}");
    }
}

#[tokio::test]
async fn a_change_that_is_not_valid_changes_nothing() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({}), "https://example.com/hook").await;
    let path = format!("/v1/alert-rules/{rule}");
    let before = customer.get_json(&path).await;
    let refused = [
        (json!({"name": ""}), 422),
        (json!({"url": "ftp://example.com"}), 422),
        (json!({"match": {"color": ["red"]}}), 422),
        (json!({"name": null}), 422),
        (json!({"version": 9}), 422),
        (json!({"color": null}), 422),
        (json!([]), 400),
    ];
    for (fields, status) in refused {
        let response = send(customer, Method::PATCH, &path, &fields).await;
        problem(response, status).await;
    }
    assert_eq!(customer.get_json(&path).await, before);
}

#[tokio::test]
async fn of_two_who_change_a_rule_at_once_nobody_overwrites_the_other_unseen() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({}), "https://example.com/hook").await;
    let path = format!("/v1/alert-rules/{rule}");
    let changes = (0..8).map(|number| {
        let path = &path;
        async move {
            let fields = json!({"name": format!("Name {number}")});
            send(customer, Method::PATCH, path, &fields).await.status()
        }
    });
    let answers = futures::future::join_all(changes).await;
    let changed = answers.iter().filter(|status| status.is_success()).count();
    let refused = answers
        .iter()
        .filter(|status| **status == StatusCode::CONFLICT);
    assert_eq!(changed + refused.count(), 8, "{answers:?}");
    let version = customer.get_json(&path).await["version"].clone();
    assert_eq!(version, changed + 1, "each that was told yes is in it");
}

#[tokio::test]
async fn a_column_that_a_newer_version_adds_does_not_break_a_running_node() {
    let mut running = Running::start(Deployment::new());
    let customer = running.customer.clone();
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let event = customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let delivery = received[0].delivery_id().expect("an id").to_owned();
    customer.delivery_in_state(&delivery, "delivered").await;
    let paths = [
        format!("/v1/alert-rules/{rule}"),
        format!("/v1/alert-rules/{rule}/versions"),
        format!("/v1/audit/events/{event}"),
        format!("/v1/deliveries/{delivery}"),
        "/v1/alert-rules".to_owned(),
        "/v1/audit/events".to_owned(),
        "/v1/deliveries".to_owned(),
    ];
    let mut before = Vec::new();
    // More often than connections, so that each has prepared what it will be asked.
    for path in &paths {
        for _ in 0..3 {
            customer.get_json(path).await;
        }
        before.push(customer.get_json(path).await);
    }
    let tables = [
        "organisations",
        "users",
        "sessions",
        "api_keys",
        "alert_rules",
        "alert_rule_versions",
        "rule_counts",
        "audit_events",
        "deliveries",
        "delivery_attempts",
    ];
    for table in tables {
        running
            .deployment
            .sql(&format!("ALTER TABLE {table} ADD COLUMN newer text"));
    }
    for (path, before) in paths.iter().zip(before) {
        assert_eq!(customer.get_json(path).await, before, "{path}");
    }
    let later = customer.ingest(&crate::deployment::event("agent-2")).await;
    assert_eq!(customer.all_events().await[0]["id"], later.as_str());
    receiver.wait_for(2, DEADLINE).await;

    // A node that starts now, and enough events for the other way of writing them.
    let mut index = running.deployment.serve("index");
    running.server.terminate(DEADLINE);
    let mut api = running.deployment.serve("api");
    let customer = customer.at(&mut api);
    let batch = json!({"events": vec![crate::deployment::event("agent-3"); 1_000]});
    ok(customer.post("/v1/audit/events", &batch).await).await;
    assert_eq!(customer.all_events().await.len(), 1_002);
    index.terminate(DEADLINE);
}
