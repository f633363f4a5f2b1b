//! Where a webhook may not go: nobody reaches into the network that Watchbell runs in.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::{NameServer, Receiver, Watchbell, eventually};

use crate::deployment::{BINARY, Customer, DEADLINE, Deployment, Running, event};

async fn make(customer: &Customer, url: &str) -> (StatusCode, Value) {
    let body = json!({"name": "Guarded", "match": {}, "url": url});
    let request = customer
        .request(Method::POST, "/v1/alert-rules")
        .json(&body);
    let response = request.send().await.expect("an answer");
    (response.status(), response.json().await.expect("JSON"))
}

async fn assert_refused(customer: &Customer, url: &str) {
    let (status, problem) = make(customer, url).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{url}");
    assert_eq!(problem["errors"][0]["pointer"], "/url", "{url}");
}

#[tokio::test]
async fn only_the_networks_that_the_operator_allows_can_be_named() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    for url in [
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "http://0.0.0.0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[fd00::1]/",
        "http://[64:ff9b::a00:1]/",
        "http://167772161/",
        "http://0xa.0.0.1/",
        "http://012.0.0.1/",
        "http://10.1/",
        "http://10.0.0.1./",
        "http://１０.0.0.1/",
    ] {
        assert_refused(customer, url).await;
    }
    for url in [
        "http://127.0.0.1/",
        "http://127.1.2.3/",
        "http://2130706433/",
        "https://1.1.1.1/",
    ] {
        let (status, answer) = make(customer, url).await;
        assert_eq!(status, StatusCode::CREATED, "{answer}");
    }
}

#[tokio::test]
async fn with_nothing_allowed_loopback_is_refused_in_every_spelling() {
    let deployment = Deployment::new().without("DELIVERY__ALLOW_CIDRS");
    let running = Running::start(deployment);
    for url in [
        "http://127.0.0.1:8080/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
    ] {
        assert_refused(&running.customer, url).await;
    }
    let (status, answer) = make(&running.customer, "https://example.com/hooks").await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
}

#[tokio::test]
async fn plain_http_is_refused_unless_the_operator_allows_it() {
    let running = Running::start(Deployment::new().without("DELIVERY__ALLOW_HTTP"));
    for url in [
        "http://example.com/",
        "http://127.0.0.1/",
        "ftp://example.com/",
        "file:///etc/passwd",
    ] {
        assert_refused(&running.customer, url).await;
    }
    let (status, answer) = make(&running.customer, "https://example.com/").await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
}

#[tokio::test]
async fn whoever_names_the_server_itself_is_told_so_unless_the_operator_allows_all_of_it() {
    // `localhost` is 127.0.0.1 and ::1; one of them forbidden is enough.
    let running = Running::start(Deployment::new());
    let (status, problem) = make(&running.customer, "http://localhost:9000/").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let message = problem["errors"][0].to_string();
    assert!(message.contains("is the server itself"), "{message}");
    assert!(message.contains("delivery.allow_cidrs"), "{message}");

    let receiver = Receiver::start().expect("a receiver");
    let deployment = Deployment::new().with("DELIVERY__ALLOW_CIDRS", "127.0.0.0/8, ::1/128");
    let running = Running::start(deployment);
    let host = format!("localhost:{}", receiver.address().port());
    let url = format!("http://{host}/by-name");
    running.customer.rule(json!({}), &url).await;
    running.customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].header("host"), Some(host.as_str()));
}

/// The rules are made where loopback is allowed and sent where it is not, as after a change of the
/// operator's mind; a name that resolves to loopback looks public until it is resolved.
#[tokio::test]
async fn an_address_that_is_forbidden_when_it_is_time_to_send_gets_nothing_and_the_delivery_is_held()
 {
    let names = NameServer::start().expect("a name server");
    names.answer("inside.test", &[Ipv4Addr::LOCALHOST.into()]);
    let deployment = Deployment::new().with("DELIVERY__NAMESERVERS", &names.address().to_string());
    let mut lenient = deployment.serve("api,index,match");
    let customer = deployment.customer(&mut lenient);
    let receiver = Receiver::start().expect("a receiver");
    let port = receiver.address().port();
    customer
        .rule(json!({}), &format!("http://inside.test:{port}/by-name"))
        .await;
    customer
        .rule(json!({}), &format!("http://127.0.0.1:{port}/by-address"))
        .await;
    customer.ingest(&event("agent-1")).await;
    let variables = deployment.variables();
    let strict = variables.chain([("WATCHBELL__DELIVERY__ALLOW_CIDRS", "")]);
    let _strict = Watchbell::spawn(Path::new(BINARY), &["serve", "--role", "deliver"], strict)
        .expect("watchbell starts");

    for delivery in deliveries(&customer, 2).await {
        let id = delivery["id"].as_str().expect("an id");
        let delivery = customer.delivery_in_state(id, "held").await;
        assert_eq!(delivery["next_at"], Value::Null);
        let attempt = &delivery["attempt_log"][0];
        assert_eq!(attempt["outcome"], "blocked");
        assert_eq!(attempt["status"], Value::Null);
        let error = attempt["error"].as_str().expect("an error");
        assert!(error.contains("nothing is sent there"), "{error}");
        assert!(error.contains("delivery.allow_cidrs"), "{error}");
    }
    assert_eq!(receiver.count(), 0);
}

#[tokio::test]
async fn a_name_is_delivered_to_only_if_every_address_behind_it_is_allowed() {
    let receiver = Receiver::start().expect("a receiver");
    let names = NameServer::start().expect("a name server");
    let both = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    names.answer("both.test", &both);
    let host = format!("both.test:{}", receiver.address().port());
    let url = format!("http://{host}/by-name");
    let deployment = || {
        let address = names.address().to_string();
        Deployment::new().with("DELIVERY__NAMESERVERS", &address)
    };
    let running = Running::start(deployment());
    let customer = &running.customer;
    customer.rule(json!({}), &url).await;
    customer.ingest(&event("agent-1")).await;
    let deliveries = deliveries(customer, 1).await;
    let id = deliveries[0]["id"].as_str().expect("an id");
    let delivery = customer.delivery_in_state(id, "held").await;
    let error = delivery["attempt_log"][0]["error"].as_str();
    let error = error.expect("an error");
    assert!(error.starts_with("The name resolves to an"), "{error}");
    assert!(!error.contains("::1"), "{error}");
    assert_eq!(receiver.count(), 0);

    let allowed = deployment().with("DELIVERY__ALLOW_CIDRS", "127.0.0.0/8, ::1/128");
    let running = Running::start(allowed);
    running.customer.rule(json!({}), &url).await;
    running.customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].header("host"), Some(host.as_str()));
}

async fn deliveries(customer: &Customer, count: usize) -> Vec<Value> {
    eventually(DEADLINE, "the deliveries are on record", async || {
        let deliveries = customer.all_deliveries().await;
        (deliveries.len() == count).then_some(deliveries)
    })
    .await
}
