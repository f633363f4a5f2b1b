//! What an attempt sent is rebuilt from the record, to the byte, and proven; or it is said why not.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::{Received, Receiver};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, SECRET, event, ok};
use crate::load::named_event;
use crate::secrets::{Office, SEALING_KEY, is_signed};

/// The attempts of a delivery, each as it is rebuilt.
async fn rebuilt(customer: &Customer, delivery: &str) -> Vec<Value> {
    let shown = customer
        .get_json(&format!("/v1/deliveries/{delivery}"))
        .await;
    let mut all = Vec::new();
    for attempt in shown["attempt_log"].as_array().expect("attempts") {
        let id = attempt["id"].as_str().expect("an id");
        let path = format!("/v1/deliveries/{delivery}/attempts/{id}/request");
        all.push(customer.get_json(&path).await);
    }
    all
}

fn headers(rebuilt: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let headers = rebuilt["headers"].as_array().expect("headers");
    headers
        .iter()
        .map(|header| (text(&header["name"]), text(&header["value"])))
        .collect()
}

/// The headers of ours that arrived, but for those that only carry a request.
fn arrived(received: &Received) -> BTreeMap<String, String> {
    let carry = [
        "host",
        "user-agent",
        "accept",
        "accept-encoding",
        "content-length",
    ];
    received
        .headers
        .iter()
        .filter(|(name, _)| !carry.contains(&name.as_str()))
        .map(|(name, value)| {
            let value = value.to_str().expect("plain");
            (name.to_string(), value.to_owned())
        })
        .collect()
}

fn without_signatures(mut headers: BTreeMap<String, String>) -> BTreeMap<String, String> {
    // The Standard Webhooks headers are there together or not at all.
    headers.retain(|name, _| !name.contains("signature") && !name.starts_with("webhook-"));
    headers
}

fn notes(rebuilt: &Value) -> String {
    rebuilt["notes"].to_string()
}

#[tokio::test]
async fn every_attempt_over_a_rotation_is_rebuilt_to_the_byte_as_long_as_its_secrets_are_there() {
    let deployment = Deployment::new().with("SECRETS__KEY", SEALING_KEY);
    let mut server = deployment.serve_all();
    let office = Office::open(&server.url(DEADLINE)).await;
    // The first attempt is signed by the deployment, the next ones over a rotation.
    office.receiver.answer_sequence([500, 500]);
    office.customer.ingest(&event("agent-é")).await;
    office.receiver.wait_for(1, DEADLINE).await;
    let (first, first_text) = office.stage().await;
    office.receiver.wait_for(2, DEADLINE).await;
    office.promote(&first, 3_600).await;
    let received = office.receiver.wait_for(3, DEADLINE).await;
    let id = received[0].delivery_id().expect("an id").to_owned();
    office.customer.delivery_in_state(&id, "delivered").await;
    assert!(is_signed(&received[0], [Some(SECRET), None, None]));
    assert!(is_signed(
        &received[2],
        [Some(&first_text), Some(SECRET), None]
    ));

    let all = rebuilt(&office.customer, &id).await;
    assert_eq!(all.len(), 3);
    for (rebuilt, received) in all.iter().zip(&received) {
        assert_eq!(
            rebuilt["body"].as_str().expect("a body").as_bytes(),
            &received.body
        );
        // A receiver would still take the signatures.
        assert_eq!(headers(rebuilt), without_signatures(arrived(received)));
        assert_eq!(rebuilt["signatures"][0]["rebuilt"], false);
        assert!(notes(rebuilt).contains("shown from"), "{rebuilt}");
        assert_eq!(rebuilt["proven"], true);
        assert_eq!(rebuilt["url"], office.receiver.url());
    }

    // Both of an organization's own; then one is dropped.
    let (second, second_text) = office.stage().await;
    let with_next = [
        Some(first_text.as_str()),
        Some(SECRET),
        Some(second_text.as_str()),
    ];
    let with_next = office.signed(with_next).await;
    let id = with_next.delivery_id().expect("an id").to_owned();
    office.customer.delivery_in_state(&id, "delivered").await;
    let one = &rebuilt(&office.customer, &id).await[0];
    let used: Vec<&Value> = (0..3)
        .map(|nth| &one["signatures"][nth]["secret"])
        .collect();
    assert_eq!(used, [first.as_str(), "initial", second.as_str()]);
    office.drop(&second).await;
    let one = &rebuilt(&office.customer, &id).await[0];
    assert_eq!(one["proven"], true);
    assert_eq!(one["signatures"][2]["rebuilt"], false);
    assert!(
        notes(one).contains(&format!("{second} was dropped")),
        "{one}"
    );
}

#[tokio::test]
async fn the_event_is_shown_only_to_whoever_may_read_events() {
    let deployment = Deployment::new();
    let mut server = deployment.serve_all();
    let mut office = Office::open(&server.url(DEADLINE)).await;
    let received = office.signed([Some(SECRET), None, None]).await;
    let id = received.delivery_id().expect("an id");
    office.customer.delivery_in_state(id, "delivered").await;
    let wanted = json!({"name": "Deliveries only", "scopes": ["deliveries:read"]});
    let key = ok(office.person.post("/v1/api-keys", &wanted).await).await;
    key["api_key"]
        .as_str()
        .expect("a key")
        .clone_into(&mut office.customer.api_key);
    let one = &rebuilt(&office.customer, id).await[0];
    assert_eq!((&one["body"], &one["proven"]), (&Value::Null, &json!(true)));
    assert!(notes(one).contains("`events:read`"), "{one}");
    assert!(!one.to_string().contains("agent-1"), "{one}");
}

#[tokio::test]
async fn what_was_changed_in_the_database_is_not_proven_and_not_signed() {
    let deployment = Deployment::new().with("SECRETS__KEY", SEALING_KEY);
    let mut server = deployment.serve_all();
    let office = Office::open(&server.url(DEADLINE)).await;
    let received = office.signed([Some(SECRET), None, None]).await;
    let id = received.delivery_id().expect("an id");
    office.customer.delivery_in_state(id, "delivered").await;
    assert_eq!(rebuilt(&office.customer, id).await[0]["proven"], true);

    deployment.sql("UPDATE audit_events SET body = replace(body, 'denied', 'allowed')");
    let one = &rebuilt(&office.customer, id).await[0];
    assert_eq!(one["proven"], false);
    assert_eq!(one["signatures"][0]["rebuilt"], false);
    assert!(!headers(one).contains_key("x-service-signature"));
    assert!(notes(one).contains("changed in the database"), "{one}");
    assert_ne!(one["body_sha256"], one["recorded_sha256"]);

    deployment.sql("DELETE FROM audit_events");
    let one = &rebuilt(&office.customer, id).await[0];
    assert_eq!(
        (&one["proven"], &one["body"]),
        (&json!(false), &Value::Null)
    );
    assert!(
        notes(one).contains("older than the retention period"),
        "{one}"
    );
}

#[tokio::test]
async fn an_attempt_of_another_delivery_or_organization_is_not_found() {
    let deployment = Deployment::new();
    let mut server = deployment.serve_all();
    let base_url = server.url(DEADLINE);
    let office = Office::open(&base_url).await;
    let mut paths = Vec::new();
    for _ in 0..2 {
        let received = office.signed([Some(SECRET), None, None]).await;
        let id = received.delivery_id().expect("an id");
        let delivery = office.customer.delivery_in_state(id, "delivered").await;
        let attempt = delivery["attempt_log"][0]["id"].as_str().expect("an id");
        paths.push((id.to_owned(), attempt.to_owned()));
    }
    let path = |delivery: &str, attempt: &str| {
        format!("/v1/deliveries/{delivery}/attempts/{attempt}/request")
    };
    let right = path(&paths[0].0, &paths[0].1);
    assert_eq!(office.customer.get(&right).await.status(), 200);
    for wrong in [
        path(&paths[0].0, &paths[1].1),
        path("dlv_x", &paths[0].1),
        path(&paths[0].0, "x"),
    ] {
        assert_eq!(office.customer.get(&wrong).await.status(), 404, "{wrong}");
    }
    let other = Office::open(&base_url).await;
    assert_eq!(other.customer.get(&right).await.status(), 404);
}

#[tokio::test]
async fn that_an_event_alerted_when_it_was_sent_again_is_not_told_as_a_change_alone() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let watch = async |agent: &str| {
        let pattern = json!({"agent_id": [agent]});
        customer.rule(pattern, &receiver.url()).await;
    };
    watch("behind").await;
    let named = named_event("agent-1", "call-1");
    customer.ingest(&named).await;
    // Judged in this order: nobody wanted the first.
    customer.ingest(&event("behind")).await;
    receiver.wait_for(1, DEADLINE).await;
    watch("agent-1").await;
    customer.ingest(&named).await;
    let received = receiver.wait_for(2, DEADLINE).await;
    assert_eq!(received[1].json()["event"]["agent_id"], "agent-1");
    let id = received[1].delivery_id().expect("an id");
    customer.delivery_in_state(id, "delivered").await;
    let one = &rebuilt(customer, id).await[0];
    assert_eq!(one["proven"], false, "it was received at another time");
    assert!(notes(one).contains("sent again"), "{one}");
}
