//! Where the operator wants to know whose endpoints are, nothing but a challenge is sent before it is given back.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use testkit::{Answer, Received, Receiver, eventually};
use webhook_signature::Verifier;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, SECRET, event, ok};
use crate::errors::problem;

fn required() -> Deployment {
    Deployment::new().with("DELIVERY__ENDPOINT_OWNERSHIP", "required")
}

/// What a request asks for, if it is a challenge.
fn challenge(received: &Received) -> Option<String> {
    let body = received.json();
    let is_one = body["type"] == "endpoint.verification";
    is_one.then(|| {
        body["data"]["challenge"]
            .as_str()
            .expect("a value")
            .to_owned()
    })
}

fn challenges(receiver: &Receiver) -> Vec<String> {
    let received = receiver.received();
    received.iter().filter_map(|one| challenge(one)).collect()
}

fn alerts(receiver: &Receiver) -> Vec<Arc<Received>> {
    receiver.received_where(|one| challenge(one).is_none())
}

/// Gives challenges back, and takes everything else.
fn answer_challenges(receiver: &Receiver) {
    receiver.answer_by(|received| match challenge(received) {
        Some(challenge) => Answer::status(200).body(json!({"challenge": challenge}).to_string()),
        None => Answer::status(200),
    });
}

async fn rule_for(customer: &Customer, agent: &str, url: &str) -> String {
    customer.rule(json!({"agent_id": [agent]}), url).await
}

/// The delivery to a URL, once it waits for its endpoint to be verified.
async fn held(customer: &Customer, url: &str) -> Value {
    let held = eventually(DEADLINE, "it is held", async || {
        let path = "/v1/deliveries?state=held&reason=unverified";
        let page = customer.get_json(path).await;
        let mut data = page["data"].as_array().expect("data").iter();
        let found = data.find(|delivery| delivery["url"] == url)?;
        found["id"].as_str().map(str::to_owned)
    })
    .await;
    customer.get_json(&format!("/v1/deliveries/{held}")).await
}

fn endpoint_of(delivery: &Value) -> String {
    let id = delivery["endpoint_id"].as_str().expect("an id");
    format!("/v1/endpoints/{id}")
}

async fn arrived(receiver: &Receiver, count: usize) {
    eventually(DEADLINE, "the alert arrived", async || {
        let now = alerts(receiver).len();
        (now == count).then_some(()).ok_or(now)
    })
    .await;
}

#[tokio::test]
async fn nothing_but_the_challenge_arrives_until_it_is_answered_and_then_what_waited() {
    let running = Running::start(required());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    rule_for(customer, "agent-1", &receiver.url()).await;
    let asked = receiver.wait_for(1, DEADLINE).await;
    let verdict = Verifier::new([SECRET]).verify(
        asked[0].header("x-service-timestamp"),
        asked[0].header("x-service-signature"),
        &asked[0].body,
        asked[0].arrived_at,
    );
    assert_eq!(verdict, Ok(()), "it is signed like a delivery");
    assert_eq!(
        asked[0].header("x-service-event"),
        Some("endpoint.verification")
    );
    assert!(asked[0].header("webhook-signature").is_some());

    customer.ingest(&event("agent-1")).await;
    let delivery = held(customer, &receiver.url()).await;
    assert_eq!(delivery["attempts"], 0, "{delivery}");
    let (id, endpoint) = (
        delivery["id"].as_str().expect("an id"),
        endpoint_of(&delivery),
    );
    let resend = format!("/v1/deliveries/{id}/resend");
    problem(customer.post(&resend, &json!({})).await, 409).await;
    assert!(alerts(&receiver).is_empty());

    answer_challenges(&receiver);
    let path = format!("{endpoint}/verify");
    let shown = ok(customer.post(&path, &json!({})).await).await;
    assert_eq!(shown["ownership"]["state"], "unverified", "{shown}");
    assert_eq!(shown["notices"][0]["notice"], "unverified", "{shown}");
    arrived(&receiver, 1).await;
    assert_eq!(alerts(&receiver)[0].delivery_id(), Some(id));
    let delivered = customer.delivery_in_state(id, "delivered").await;
    assert_eq!(delivered["attempts"], 1, "{delivered}");
    let shown = customer.get_json(&endpoint).await;
    assert_eq!(shown["ownership"]["state"], "verified", "{shown}");

    // Asked again it is neither sent again nor challenged again.
    let asked = challenges(&receiver).len();
    ok(customer.post(&path, &json!({})).await).await;
    customer.ingest(&event("agent-1")).await;
    arrived(&receiver, 2).await;
    assert_eq!(challenges(&receiver).len(), asked);
}

#[tokio::test]
async fn who_answers_another_value_or_whatever_was_sent_stays_unverified_and_is_asked_again() {
    let running = Running::start(required());
    let customer = &running.customer;
    let (wrong, echo) = (
        Receiver::start().expect("a receiver"),
        Receiver::start().expect("a receiver"),
    );
    wrong.answer_always(Answer::status(200).body(r#"{"challenge": "another"}"#));
    echo.answer_by(|received| Answer::status(200).body(received.body.clone()));
    rule_for(customer, "agent-1", &wrong.url()).await;
    rule_for(customer, "agent-1", &echo.url()).await;
    customer.ingest(&event("agent-1")).await;
    for receiver in [&wrong, &echo] {
        // waits for: the second challenge, ten seconds after the first
        receiver.wait_for(2, DEADLINE).await;
        let asked = challenges(receiver);
        assert_eq!(asked.iter().collect::<HashSet<_>>().len(), asked.len());
        assert!(alerts(receiver).is_empty());
        let delivery = held(customer, &receiver.url()).await;
        let shown = customer.get_json(&endpoint_of(&delivery)).await;
        let ownership = &shown["ownership"];
        assert_eq!(ownership["state"], "unverified", "{shown}");
        let error = ownership["error"].as_str().expect("what was wrong");
        assert!(error.contains("did not return the challenge"), "{error}");
    }
}

#[tokio::test]
async fn who_is_verified_stays_so_after_a_restart_and_another_organization_is_asked_by_itself() {
    let mut running = Running::start(required());
    let receiver = Receiver::start().expect("a receiver");
    answer_challenges(&receiver);
    rule_for(&running.customer, "agent-1", &receiver.url()).await;
    running.customer.ingest(&event("agent-1")).await;
    arrived(&receiver, 1).await;
    assert_eq!(challenges(&receiver).len(), 1);

    let status = running.server.terminate(DEADLINE);
    assert!(status.success(), "{status}");
    running.server = running.deployment.serve_all();
    let customer = running.customer.at(&mut running.server);
    customer.ingest(&event("agent-1")).await;
    arrived(&receiver, 2).await;
    assert_eq!(challenges(&receiver).len(), 1, "it had answered");

    let other = running.deployment.customer(&mut running.server);
    rule_for(&other, "agent-2", &receiver.url()).await;
    other.ingest(&event("agent-2")).await;
    arrived(&receiver, 3).await;
    assert_eq!(challenges(&receiver).len(), 2, "one for each organization");
}

#[tokio::test]
async fn who_is_paused_is_not_asked_before_somebody_resumes_it() {
    let running = Running::start(required());
    let customer = &running.customer;
    let [paused, other] = [(); 2].map(|()| Receiver::start().expect("a receiver"));
    rule_for(customer, "agent-1", &paused.url()).await;
    paused.wait_for(1, DEADLINE).await;
    customer.ingest(&event("agent-1")).await;
    let endpoint = endpoint_of(&held(customer, &paused.url()).await);
    let (pause, resume) = (format!("{endpoint}/pause"), format!("{endpoint}/resume"));
    ok(customer.post(&pause, &json!({})).await).await;
    rule_for(customer, "agent-1", &other.url()).await;
    // waits for: the second challenge of another, which is due after that of the one that is paused
    other.wait_for(2, DEADLINE).await;
    assert_eq!(challenges(&paused).len(), 1);

    answer_challenges(&paused);
    ok(customer.post(&resume, &json!({})).await).await;
    eventually(DEADLINE, "it is verified", async || {
        customer.get_json(&endpoint).await["ownership"]["state"] == "verified"
    })
    .await;
}

#[tokio::test]
async fn what_waits_goes_along_when_its_rule_gets_a_url_that_answers() {
    let running = Running::start(required());
    let customer = &running.customer;
    let [silent, other] = [(); 2].map(|()| Receiver::start().expect("a receiver"));
    answer_challenges(&other);
    let rule = rule_for(customer, "agent-1", &silent.url()).await;
    customer.ingest(&event("agent-1")).await;
    let delivery = held(customer, &silent.url()).await;
    let shown = customer.get_json(&endpoint_of(&delivery)).await;
    assert_eq!(shown["ownership"]["state"], "unverified", "{shown}");

    let (path, url) = (format!("/v1/alert-rules/{rule}"), other.url());
    customer.patch(&path, &json!({"url": url})).await;
    arrived(&other, 1).await;
    assert_eq!(alerts(&other)[0].delivery_id(), delivery["id"].as_str());
    assert!(alerts(&silent).is_empty());
}

#[tokio::test]
async fn unless_it_is_required_nobody_is_asked() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    rule_for(customer, "agent-1", &receiver.url()).await;
    customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let id = received[0].delivery_id().expect("an id").to_owned();
    let delivery = customer.delivery_in_state(&id, "delivered").await;
    let endpoint = endpoint_of(&delivery);
    let shown = customer.get_json(&endpoint).await;
    assert_eq!(shown["ownership"], Value::Null);
    let refused = customer
        .post(&format!("{endpoint}/verify"), &json!({}))
        .await;
    problem(refused, 409).await;
    assert!(challenges(&receiver).is_empty());
}
