//! The OpenAPI document: what it says is there is there.

use reqwest::{Method, RequestBuilder, header};
use serde_json::json;
use testkit::Receiver;

use crate::commands::run;
use crate::deployment::{DEADLINE, Deployment, Running, event, http};
use crate::errors::problem;

#[tokio::test]
async fn every_operation_in_the_openapi_document_exists_and_asks_for_a_key_where_it_says_so() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer.rule(json!({}), &receiver.url()).await;
    let event_id = customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let delivery = received[0].delivery_id().expect("an id").to_owned();
    let bodies = json!({
        "/v1/audit/events": event("agent-2"),
        "/v1/alert-rules": {"name": "Another", "match": {}, "url": receiver.url()},
    });

    let document = customer.get_json("/openapi.json").await;
    let mut asked = 0;
    for (path, operations) in document["paths"].as_object().expect("paths") {
        let id = match path.as_str() {
            "/v1/audit/events/{id}" => &event_id,
            "/v1/alert-rules/{id}" => &rule,
            "/v1/deliveries/{id}" => &delivery,
            _ => "",
        };
        let address = path.replace("{id}", id);
        assert!(!address.contains('{'), "this test has no value for {path}");
        for (method, operation) in operations.as_object().expect("operations") {
            let method: Method = method.to_uppercase().parse().expect("a method");
            let prepare = |request: RequestBuilder| match (&method, &bodies[path]) {
                (&Method::POST, body) => request.json(body),
                _ => request,
            };
            let request = prepare(customer.request(method.clone(), &address));
            let response = request.send().await.expect("an answer");
            assert!(
                response.status().is_success(),
                "{method} {path}: {}",
                response.status()
            );
            let status = response.status().as_u16().to_string();
            assert!(
                operation["responses"].get(&status).is_some(),
                "{method} {path}: {status}"
            );

            let stranger =
                http().request(method.clone(), format!("{}{address}", customer.base_url));
            let response = prepare(stranger).send().await.expect("an answer");
            if operation.get("security").is_some() {
                problem(response, 401).await;
            } else {
                assert!(response.status().is_success(), "{method} {path}");
            }
            asked += 1;
        }
    }
    assert!(asked >= 11, "{asked} operations in the document");
}

#[tokio::test]
async fn the_served_openapi_document_is_the_one_that_the_command_prints() {
    let running = Running::start(Deployment::new());
    let response = running.customer.get("/openapi.json").await;
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
    let served = response.text().await.expect("a text");
    let printed = run(&["reference", "openapi"], []);
    assert!(printed.status.success());
    assert_eq!(served, String::from_utf8(printed.stdout).expect("UTF-8"));
}
