//! Who sees what: nobody anything without a key, and no organization anything of another.

use domain::account::ApiKey;
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};
use testkit::Receiver;

use crate::deployment::{DEADLINE, Deployment, Running, event, http};

#[tokio::test]
async fn organizations_never_see_each_others_events_rules_or_deliveries() {
    let mut running = Running::start(Deployment::new());
    let other = running.deployment.customer(&mut running.server);
    let mut seen = Vec::new();
    for customer in [&running.customer, &other] {
        let receiver = Receiver::start().expect("a receiver");
        let rule = customer.rule(json!({}), &receiver.url()).await;
        seen.push((customer, receiver, rule));
    }
    let mut ids = Vec::new();
    for (customer, receiver, rule) in &seen {
        let event = customer.ingest(&event("agent-1")).await;
        let received = receiver.wait_for(1, DEADLINE).await;
        let delivery = received[0].delivery_id().expect("a delivery id").to_owned();
        customer.delivery_in_state(&delivery, "delivered").await;
        ids.push([
            format!("/v1/audit/events/{event}"),
            format!("/v1/alert-rules/{rule}"),
            format!("/v1/deliveries/{delivery}"),
        ]);
    }
    for (mine, theirs) in [(0, 1), (1, 0)] {
        let (customer, receiver, _) = &seen[mine];
        assert_eq!(receiver.count(), 1);
        for path in &ids[mine] {
            assert_eq!(customer.get(path).await.status(), StatusCode::OK, "{path}");
        }
        for path in &ids[theirs] {
            assert_eq!(
                customer.get(path).await.status(),
                StatusCode::NOT_FOUND,
                "{path}"
            );
        }
        for (path, own) in [
            "/v1/audit/events?event_type=tool_call",
            "/v1/alert-rules",
            "/v1/deliveries",
        ]
        .iter()
        .zip(&ids[mine])
        {
            let page = customer.get_json(path).await;
            let data = page["data"].as_array().expect("data");
            assert_eq!(data.len(), 1, "{page}");
            assert!(
                own.ends_with(data[0]["id"].as_str().expect("an id")),
                "{page}"
            );
        }
    }
}

#[tokio::test]
async fn without_a_key_that_is_known_nothing_is_answered_but_401() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.ingest(&event("agent-1")).await;
    let key = &customer.api_key;
    let last = if key.ends_with('0') { "1" } else { "0" };
    let mistyped = format!("Bearer {}{last}", &key[..key.len() - 1]);
    let unknown = format!("Bearer {}", ApiKey::new([7; 20]).reveal());
    let basic = format!("Basic {key}");
    let presented = [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some(key),
        Some(&basic),
        Some(&mistyped),
        Some(&unknown),
    ];
    let requests = [
        (Method::POST, "/v1/audit/events"),
        (Method::GET, "/v1/audit/events"),
        (Method::POST, "/v1/alert-rules"),
        (Method::GET, "/v1/alert-rules"),
        (Method::GET, "/v1/deliveries"),
    ];
    for (method, path) in requests {
        for authorization in presented {
            let mut request = http()
                .request(method.clone(), format!("{}{path}", customer.base_url))
                .json(&event("agent-2"));
            if let Some(authorization) = authorization {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let response = request.send().await.expect("an answer");
            let what = format!("{method} {path} with {authorization:?}");
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{what}");
            assert_eq!(
                response.headers()[header::WWW_AUTHENTICATE],
                "Bearer",
                "{what}"
            );
            let problem: Value = response.json().await.expect("JSON");
            assert_eq!(problem["code"], "UNAUTHENTICATED", "{what}");
        }
    }
    assert_eq!(customer.all_events().await.len(), 1, "nothing was taken in");
}
