//! The contract, section by section: what a receiver and a customer may rely on.
//!
//! The numbers are those of the service's specification.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use domain::Timestamp;
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};
use sha2::Sha256;
use testkit::{Answer, Received, Receiver};
use webhook_signature::{Verifier, standard};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, SECRET, event};

/// One delivery of one event, as a receiver gets it.
async fn one_delivery(running: &Running) -> std::sync::Arc<Received> {
    let receiver = Receiver::start().expect("a receiver");
    let customer = &running.customer;
    customer.rule(json!({}), &receiver.url()).await;
    customer.ingest(&event("agent-1")).await;
    receiver.wait_for(1, DEADLINE).await.remove(0)
}

fn keys(object: &Value) -> BTreeSet<&str> {
    let object = object.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[tokio::test]
async fn section_2_1_the_body_has_exactly_four_fields_of_the_given_types() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let name = r#"Denied "tool" calls \ é 中 😀"#;
    let body = json!({"name": name, "match": {}, "url": receiver.url()});
    let rule = customer.post("/v1/alert-rules", &body).await;
    assert_eq!(rule.status(), StatusCode::CREATED);
    let rule: Value = rule.json().await.expect("JSON");
    customer.ingest(&event("agent-1")).await;

    let received = receiver.wait_for(1, DEADLINE).await;
    let body = received[0].json();
    assert_eq!(
        keys(&body),
        BTreeSet::from(["rule_id", "rule_name", "event", "timestamp"])
    );
    assert_eq!(body["rule_id"], rule["id"]);
    assert_eq!(body["rule_name"], name);
    assert!(body["event"].is_object());
    assert!(body["timestamp"].is_string());
}

#[tokio::test]
async fn section_2_2_the_event_carries_its_four_fields_as_sent() {
    let running = Running::start(Deployment::new());
    let received = one_delivery(&running).await;

    let carried = &received.json()["event"];
    for (field, sent) in event("agent-1").as_object().expect("an object") {
        assert_eq!(&carried[field], sent, "{field}");
    }
}

#[tokio::test]
async fn section_4_1_a_delivery_is_a_post_to_the_configured_url_with_its_path_and_query() {
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    let url = format!("http://{}/a/b%20c?token=x%2Fy&z=1", receiver.address());
    running.customer.rule(json!({}), &url).await;
    running.customer.ingest(&event("agent-1")).await;

    let received = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].method, Method::POST);
    assert_eq!(received[0].uri.to_string(), "/a/b%20c?token=x%2Fy&z=1");
    assert_eq!(
        received[0].header("host"),
        Some(receiver.address().to_string().as_str())
    );
}

#[tokio::test]
async fn section_6_every_header_is_there_once_and_says_what_it_should() {
    let running = Running::start(Deployment::new());
    let received = one_delivery(&running).await;

    // `header` gives nothing for a header that is there twice.
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.header("x-service-event"), Some("tool_call"));
    let timestamp = received.header("x-service-timestamp").expect("a timestamp");
    assert_eq!(received.json()["timestamp"], timestamp);
    assert!(is_iso_8601_with_milliseconds(timestamp), "{timestamp}");
    let signed_at = Timestamp::parse(timestamp).expect("a time").unix_millis();
    let arrived_at = received.arrived_at.duration_since(UNIX_EPOCH);
    let arrived_at = arrived_at.expect("after 1970").as_millis();
    let arrived_at = i64::try_from(arrived_at).expect("a time of this age");
    assert!(
        (0..5_000).contains(&(arrived_at - signed_at)),
        "signed at {signed_at}, arrived at {arrived_at}"
    );
    let signature = received.header("x-service-signature").expect("a signature");
    let digest = signature.strip_prefix("sha256=").expect("its prefix");
    assert_eq!(digest.len(), 64);
    let is_lowercase_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    assert!(digest.bytes().all(is_lowercase_hex), "{digest}");
}

/// `2026-01-15T12:00:00.000Z`
fn is_iso_8601_with_milliseconds(text: &str) -> bool {
    let shape = b"dddd-dd-ddTdd:dd:dd.dddZ";
    text.len() == shape.len()
        && text.bytes().zip(shape).all(|(byte, wanted)| match wanted {
            b'd' => byte.is_ascii_digit(),
            literal => byte == *literal,
        })
}

#[tokio::test]
async fn section_6_the_event_header_follows_the_type_of_the_event() {
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    running.customer.rule(json!({}), &receiver.url()).await;
    let mut handoff = event("agent-1");
    // An escape, so that the header must carry the value and not the spelling.
    handoff["event_type"] = json!("handoff");
    let body = handoff.to_string().replace("handoff", r"hando\u0066f");
    post_raw(&running.customer, &body).await;

    let received = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].header("x-service-event"), Some("handoff"));
    assert_eq!(received[0].json()["event"]["event_type"], "handoff");
}

#[tokio::test]
async fn section_5_2_the_signature_verifies_over_the_raw_bytes() {
    let running = Running::start(Deployment::new());
    let received = one_delivery(&running).await;
    let timestamp = received.header("x-service-timestamp").expect("a timestamp");
    let signature = received.header("x-service-signature").expect("a signature");

    // With nothing of ours: only what section 5.2 says.
    let mut hmac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    hmac.update(timestamp.as_bytes());
    hmac.update(b".");
    hmac.update(&received.body);
    let digest = hex::encode(hmac.finalize().into_bytes());
    assert_eq!(signature, format!("sha256={digest}"));

    let verify = |verifier: Verifier, body: &[u8]| {
        let (timestamp, signature) = (Some(timestamp), Some(signature));
        verifier.verify(timestamp, signature, body, received.arrived_at)
    };
    assert_eq!(verify(Verifier::new([SECRET]), &received.body), Ok(()));
    assert!(verify(Verifier::new(["another secret"]), &received.body).is_err());
    let mut changed = received.body.to_vec();
    changed.push(b' ');
    assert!(verify(Verifier::new([SECRET]), &changed).is_err());
}

#[tokio::test]
async fn the_standard_webhooks_headers_verify_as_well() {
    let running = Running::start(Deployment::new());
    let received = one_delivery(&running).await;
    let key = standard::Key::parse(SECRET).expect("a whsec_ secret");

    let verified = standard::verify(
        &[key],
        received.header(standard::ID_HEADER),
        received.header(standard::TIMESTAMP_HEADER),
        received.header(standard::SIGNATURE_HEADER),
        &received.body,
        received.arrived_at,
    );
    assert_eq!(verified, Ok(()));
    assert_eq!(
        received.header(standard::ID_HEADER),
        received.header("x-service-delivery-id")
    );
}

#[tokio::test]
async fn section_5_2_a_secret_of_any_form_signs_and_only_a_standard_one_signs_twice() {
    let secret = "päss wörd";
    let deployment = Deployment::new().with("DELIVERY__SHARED_SIGNING_SECRET", secret);
    let running = Running::start(deployment);
    let received = one_delivery(&running).await;

    let verified = Verifier::new([secret]).verify(
        received.header("x-service-timestamp"),
        received.header("x-service-signature"),
        &received.body,
        received.arrived_at,
    );
    assert_eq!(verified, Ok(()));
    assert!(!received.headers.contains_key(standard::SIGNATURE_HEADER));
}

#[tokio::test]
async fn section_5_2_without_a_secret_the_signature_header_is_absent() {
    let deployment = Deployment::new()
        .without("DELIVERY__SIGNING_SECRET")
        .without("DELIVERY__SHARED_SIGNING_SECRET");
    let running = Running::start(deployment);
    let received = one_delivery(&running).await;

    assert!(!received.headers.contains_key("x-service-signature"));
    assert!(!received.headers.contains_key(standard::SIGNATURE_HEADER));
    // Everything else is as ever.
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.header("x-service-event"), Some("tool_call"));
    assert_eq!(
        received.header("x-service-timestamp"),
        received.json()["timestamp"].as_str()
    );
}

/// Section 5.2.8: 400 for a stale or missing timestamp, 401 for a wrong signature, 200 otherwise.
/// Its clock is `ahead` of ours.
fn reference_receiver(secret: &'static str, ahead: Duration) -> Receiver {
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_by(move |received| {
        let verified = Verifier::new([secret]).verify(
            received.header("x-service-timestamp"),
            received.header("x-service-signature"),
            &received.body,
            received.arrived_at + ahead,
        );
        Answer::status(verified.map_or_else(|refusal| refusal.http_status(), |()| 200))
    });
    receiver
}

#[tokio::test]
async fn section_5_2_8_what_the_reference_receiver_answers_is_understood_and_explained() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let just_in_time = reference_receiver(SECRET, Duration::from_secs(290));
    let too_late = reference_receiver(SECRET, Duration::from_secs(301));
    let wrong_secret = reference_receiver("whsec_b3RoZXI=", Duration::ZERO);
    for receiver in [&just_in_time, &too_late, &wrong_secret] {
        customer.rule(json!({}), &receiver.url()).await;
    }
    customer.ingest(&event("agent-1")).await;

    let first_attempt = async |receiver: &Receiver, state: &str| {
        let received = receiver.wait_for(1, DEADLINE).await;
        let id = received[0].delivery_id().expect("a delivery id").to_owned();
        customer.delivery_in_state(&id, state).await["attempt_log"][0].take()
    };
    let attempt = first_attempt(&just_in_time, "delivered").await;
    assert_eq!(
        (&attempt["status"], &attempt["error"]),
        (&json!(200), &Value::Null)
    );
    let attempt = first_attempt(&too_late, "scheduled").await;
    assert_eq!(
        (&attempt["status"], &attempt["outcome"]),
        (&json!(400), &json!("rejected"))
    );
    assert!(text(&attempt["error"]).contains("clock"), "{attempt}");
    let attempt = first_attempt(&wrong_secret, "scheduled").await;
    assert_eq!(
        (&attempt["status"], &attempt["outcome"]),
        (&json!(401), &json!("rejected"))
    );
    assert!(text(&attempt["error"]).contains("secret"), "{attempt}");
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// Odd on purpose: a parser that reads and writes it again changes every part of it.
const ODD: &str = "{ \"agent_id\" :\t\"\\u00e9\\ud83d\\ude00 \u{e9}\u{1f600}\\/\" ,\r\n \"event_type\":\"tool_call\", \
    \"metadata\" : {\"z\":1.00, \"a\":1E+2 , \"n\":-0.0, \"big\":123456789012345678901234567890.10, \
    \"nul\":\"\\u0000\", \"empty\":{ }, \"dup\":1}, \"result\":\"denied\",\"action\":\"files.delete\" }";

#[tokio::test]
async fn the_bytes_of_an_event_are_delivered_and_listed_as_they_were_sent() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    customer.rule(json!({}), &receiver.url()).await;
    let id = post_raw(customer, ODD).await;
    let in_batch = ODD.replace("files.delete", "files.read");
    let id_in_batch = post_raw(customer, &format!("\n{{ \"events\" : [ {in_batch} ] }}\n")).await;

    let received = receiver.wait_for(2, DEADLINE).await;
    let list = customer.get("/v1/audit/events").await;
    let list = list.text().await.expect("a text");
    for (id, sent) in [(id, ODD), (id_in_batch, in_batch.as_str())] {
        // The server's own fields stand before the first one; from there on it is the client's.
        let sent = sent.strip_prefix('{').expect("an object");
        let body = received
            .iter()
            .find(|one| one.event_id() == Some(id.clone()));
        let body = std::str::from_utf8(&body.expect("its delivery").body).expect("UTF-8");
        assert!(body.contains(sent), "{body}");
        assert!(list.contains(sent), "{list}");
        let shown = customer.get(&format!("/v1/audit/events/{id}")).await;
        let shown = shown.text().await.expect("a text");
        assert!(shown.ends_with(sent), "{shown}");
    }
}

/// Posts a body as it stands and returns the id of its only event.
async fn post_raw(customer: &Customer, body: &str) -> String {
    let response = customer
        .request(Method::POST, "/v1/audit/events")
        .header(header::CONTENT_TYPE, "application/json")
        .body(body.to_owned())
        .send()
        .await
        .expect("an answer");
    let answer = crate::deployment::ok(response).await;
    assert_eq!(answer["ingested"], 1, "{answer}");
    text(&answer["events"][0]["id"]).to_owned()
}

#[tokio::test]
async fn metadata_that_no_rule_or_receiver_could_read_is_refused_and_does_not_slip_past_rules() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let deep = format!(
        r#"{{"env":"prod","x":{}1{}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    for metadata in [
        r#"{"env":"prod","x":1e999}"#,
        r#"{"env":"prod","x":"\ud800"}"#,
        &deep,
    ] {
        let body = format!(
            r#"{{"event_type":"tool_call","agent_id":"a","action":"files.delete","result":"denied","metadata":{metadata}}}"#
        );
        let response = customer
            .request(Method::POST, "/v1/audit/events")
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .send()
            .await
            .expect("an answer");
        assert_eq!(
            response.status(),
            StatusCode::UNPROCESSABLE_ENTITY,
            "{metadata}"
        );
        let problem: Value = response.json().await.expect("JSON");
        assert_eq!(problem["errors"][0]["pointer"], "/metadata");
    }
}

#[tokio::test]
async fn section_6_each_matching_rule_gets_one_post_and_other_rules_none() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let matching = [
        customer.rule(json!({}), &receiver.url()).await,
        customer
            .rule(json!({"result": ["denied", "error"]}), &receiver.url())
            .await,
        customer
            .rule(
                json!({"event_type": ["tool_call"], "agent_id": ["agent-1"]}),
                &receiver.url(),
            )
            .await,
    ];
    customer
        .rule(json!({"result": ["success"]}), &receiver.url())
        .await;
    let disabled = json!({"name": "Off", "enabled": false, "match": {}, "url": receiver.url()});
    assert_eq!(
        customer.post("/v1/alert-rules", &disabled).await.status(),
        StatusCode::CREATED
    );

    let first = customer.ingest(&event("agent-1")).await;
    // Of the same organization, so it is judged after the first; and only one rule wants it.
    let mut other = event("agent-2");
    other["result"] = json!("allowed");
    let second = customer.ingest(&other).await;

    let received = receiver.wait_for(matching.len() + 1, DEADLINE).await;
    // A delivery is on record before it can be sent, so once the last one has arrived the record
    // holds all there will ever be.
    let deliveries = customer.get_json("/v1/deliveries").await;
    let pairs = |list: Vec<(String, String)>| -> BTreeSet<(String, String)> {
        let count = list.len();
        let set = BTreeSet::from_iter(list);
        assert_eq!(set.len(), count, "one of them is there twice");
        set
    };
    let expected = matching.iter().map(|rule| (first.clone(), rule.clone()));
    let expected = pairs(expected.chain([(second, matching[0].clone())]).collect());
    let on_record = deliveries["data"].as_array().expect("data").iter();
    let pair = |one: &Value| {
        (
            text(&one["event_id"]).to_owned(),
            text(&one["rule_id"]).to_owned(),
        )
    };
    assert_eq!(pairs(on_record.map(pair).collect()), expected);
    let pair = |one: &Received| {
        (
            one.event_id().expect("an id"),
            one.rule_id().expect("an id"),
        )
    };
    assert_eq!(
        pairs(received.iter().map(|one| pair(one)).collect()),
        expected
    );
    assert_eq!(deliveries["fresh"], true);
}

#[tokio::test]
async fn section_8_a_batch_is_one_request_that_carries_many_events_in_order() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let events: Vec<Value> = (0..1_000)
        .map(|number| event(&format!("agent-{number}")))
        .collect();
    let answer = customer
        .post("/v1/audit/events", &json!({"events": events}))
        .await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let answer: Value = answer.json().await.expect("JSON");
    assert_eq!(answer["ingested"], 1_000);
    assert_eq!(answer["rejected"], json!([]));

    let agents: std::collections::HashMap<String, String> = customer
        .all_events()
        .await
        .iter()
        .map(|event| {
            (
                text(&event["id"]).to_owned(),
                text(&event["agent_id"]).to_owned(),
            )
        })
        .collect();
    assert_eq!(agents.len(), 1_000);
    for (number, accepted) in answer["events"]
        .as_array()
        .expect("events")
        .iter()
        .enumerate()
    {
        assert_eq!(agents[text(&accepted["id"])], format!("agent-{number}"));
    }
}
