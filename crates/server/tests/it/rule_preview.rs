//! A rule is tried on the newest events, and says of each what it makes of it and why.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::api_keys::{make, with_key};
use crate::deployment::{DEADLINE, Deployment, Running, event, ok};
use crate::editing::text;
use crate::errors::problem;
use crate::people::Person;

const PREVIEW: &str = "/v1/alert-rules/preview";

#[tokio::test]
async fn a_rule_that_is_given_or_saved_is_tried_on_the_newest_events() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let pattern = json!({"agent_id": ["agent-2"]});
    let first = customer.ingest(&event("agent-1")).await;
    let second = customer.ingest(&event("agent-2")).await;
    let given = json!({"rule": {"match": pattern, "except": [{"result": ["success"]}]}});
    let answer = ok(customer.post(PREVIEW, &given).await).await;
    assert_eq!(answer["matched"], 1, "{answer}");
    let events = answer["events"].as_array().expect("events");
    let ids: Vec<&Value> = events.iter().map(|one| &one["event"]["id"]).collect();
    assert_eq!(ids, [&json!(second), &json!(first)], "newest first");
    assert_eq!(events[0]["matches"], true);
    assert_eq!(events[1]["matches"], false);
    assert_eq!(
        events[1]["leaves"],
        json!([{"path": "agent_id", "op": "equals", "wanted": "agent-2", "seen": "agent-1", "pass": false}])
    );
    assert_eq!(events[1]["except"][0]["matches"], false);

    let newest = json!({"rule": {"match": pattern}, "limit": 1});
    let answer = ok(customer.post(PREVIEW, &newest).await).await;
    assert_eq!(answer["events"].as_array().map(Vec::len), Some(1));

    let older = json!({"rule": {"match": pattern}, "limit": 1, "event_id": first});
    let answer = ok(customer.post(PREVIEW, &older).await).await;
    assert_eq!(answer["named"]["event"]["id"], json!(first));
    assert_eq!(answer["named"]["matches"], false);
    assert_eq!(answer["matched"], 1, "only the newest are counted");

    let saved = customer.rule(pattern, "https://example.com/hook").await;
    let named = ok(customer.post(PREVIEW, &json!({"rule_id": saved})).await).await;
    assert_eq!(named["matched"], 1, "{named}");
}

#[tokio::test]
async fn a_preview_is_refused_for_what_is_wrong_with_it() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    for (body, status) in [
        (json!({}), StatusCode::UNPROCESSABLE_ENTITY),
        (
            json!({"rule": {"match": {"result": "denied"}}}),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (
            json!({"rule": {"match": {}}, "limit": 101}),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (
            json!({"rule": {"match": {}}, "limit": 0}),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (
            json!({"rule": {"match": {}}, "event_id": "evt_01jcq3k5m8e9ratvw2x4y6z8ab"}),
            StatusCode::NOT_FOUND,
        ),
        (
            json!({"rule_id": "rul_01jcq3k5m8e9ratvw2x4y6z8ab"}),
            StatusCode::NOT_FOUND,
        ),
    ] {
        problem(customer.post(PREVIEW, &body).await, status.as_u16()).await;
    }
}

#[tokio::test]
async fn a_key_that_reads_no_events_is_not_shown_one_of_the_past() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api,index");
    let base_url = server.url(DEADLINE);
    let owner = Person::founder(&base_url).await;
    let event = "evt_01jcq3k5m8e9ratvw2x4y6z8ab";
    let rule = json!({"name": "Any", "match": {}, "url": "https://receiver.example/"});
    for (scopes, status) in [
        (json!(["rules:write"]), 403),
        (json!(["rules:write", "events:read"]), 404),
    ] {
        let made = make(&owner, &json!({"name": "Rules", "scopes": scopes})).await;
        let key = with_key(&base_url, &made);
        let saved = ok(key.post("/v1/alert-rules", &rule).await).await;
        let trigger = format!("/v1/alert-rules/{}/trigger", text(&saved, "id"));
        let tried = json!({"rule": {"match": {}}, "event_id": event});
        for (path, body) in [
            (PREVIEW, &tried),
            ("/v1/alert-rules/test", &tried),
            ("/v1/alert-rules/suggest", &json!({"event_id": event})),
            (&trigger, &json!({"event_id": event})),
        ] {
            problem(key.post(path, body).await, status).await;
        }
        let backtest = format!("/v1/alert-rules/{}/backtest", text(&saved, "id"));
        let unsaved = json!({"rule": {"match": {}}});
        for (path, body) in [
            (PREVIEW, &unsaved),
            ("/v1/alert-rules/backtest", &unsaved),
            (&backtest, &json!({})),
        ] {
            let answer = key.post(path, body).await;
            let is_refused = answer.status() == StatusCode::FORBIDDEN;
            assert_eq!(is_refused, status == 403, "{path}");
        }
    }
}

#[tokio::test]
async fn previews_have_a_limit_of_their_own() {
    let deployment = Deployment::new()
        .with("LIMITS__RULE_PREVIEWS", "2/60s")
        .with("LIMITS__RULE_TRIES", "1/60s");
    let running = Running::start(deployment);
    let body = json!({"rule": {"match": {}}});
    for _ in 0..2 {
        ok(running.customer.post(PREVIEW, &body).await).await;
    }
    let answer = running.customer.post(PREVIEW, &body).await;
    problem(answer, 429).await;
}
