//! A rule is tried on one event, and says what it makes of it and why.

use reqwest::StatusCode;
use serde_json::{Value, json};
use testkit::Receiver;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, ok};
use crate::errors::problem;

async fn tried(customer: &Customer, body: &Value) -> Value {
    ok(customer.post("/v1/alert-rules/test", body).await).await
}

#[tokio::test]
async fn a_rule_that_is_given_or_saved_is_tried_on_an_event_that_is_given_or_stored() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let pattern = json!({"result": ["denied"], "agent_id": ["agent-1"]});
    let saved = customer
        .rule(pattern.clone(), "https://example.com/hook")
        .await;
    let stored = customer.ingest(&event("agent-1")).await;
    let other = customer.ingest(&event("agent-2")).await;
    let given = json!({ "match": pattern });
    for (body, matches) in [
        (json!({"rule": given, "event": event("agent-1")}), true),
        (
            json!({"rule": given, "event": {"agent_id": "agent-1"}}),
            false,
        ),
        (json!({"rule": given, "event_id": stored}), true),
        (json!({"rule_id": saved, "event_id": stored}), true),
        (json!({"rule_id": saved, "event_id": other}), false),
        (json!({"rule_id": saved, "event": event("agent-2")}), false),
    ] {
        let answer = tried(customer, &body).await;
        assert_eq!(answer["matches"], matches, "{body}: {answer}");
    }
}

#[tokio::test]
async fn every_condition_says_what_it_wanted_and_what_it_saw() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = json!({
        "match": {"action": [{"prefix": "payments."}], "result": ["denied"]},
        "except": [{"agent_id": ["agent-1"]}, {"agent_id": ["nobody"]}],
    });
    let answer = tried(customer, &json!({"rule": rule, "event": event("agent-1")})).await;
    assert_eq!(answer["matches"], false, "{answer}");
    let leaf = |path: &str| {
        let leaves = answer["leaves"].as_array().expect("leaves");
        let leaf = leaves.iter().find(|leaf| leaf["path"] == path);
        leaf.expect("a leaf").clone()
    };
    let action = json!({"path": "action", "op": "prefix", "wanted": "payments.", "seen": "files.delete", "pass": false});
    assert_eq!(leaf("action"), action);
    assert_eq!(leaf("result")["pass"], true);
    assert_eq!(answer["except"][0]["matches"], true, "{answer}");
    assert_eq!(answer["except"][1]["matches"], false, "{answer}");
}

#[tokio::test]
async fn a_rule_made_from_an_event_matches_it_and_those_like_it_and_is_not_saved() {
    let mut running = Running::start(Deployment::new());
    let other = running.deployment.customer(&mut running.server);
    let customer = &running.customer;
    let stored = customer.ingest(&event("agent-1")).await;
    let suggest = async |customer: &Customer, body: Value| {
        customer.post("/v1/alert-rules/suggest", &body).await
    };
    let body = json!({ "event_id": stored });
    let suggested = ok(suggest(customer, body.clone()).await).await;
    assert_eq!(suggested["name"], "files.delete denied");
    for (event, matches) in [
        (event("agent-1"), true),
        (event("agent-2"), true),
        (
            json!({"event_type": "tool_call", "action": "files.delete", "result": "success"}),
            false,
        ),
    ] {
        let answer = tried(customer, &json!({"rule": suggested, "event": event})).await;
        assert_eq!(answer["matches"], matches, "{event}: {suggested}");
    }
    let given = ok(suggest(customer, json!({"event": event("agent-9")})).await).await;
    assert_eq!(given, suggested);
    problem(suggest(&other, body).await, 404).await;
    problem(suggest(customer, json!({})).await, 422).await;
    let rules = customer.get_json("/v1/alert-rules").await;
    assert_eq!(rules["data"], json!([]));
}

#[tokio::test]
async fn what_would_follow_is_said_in_words() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let follows = async |more: Value| {
        let mut rule = json!({"match": {"result": ["denied"]}, "url": "https://example.com/hook"});
        let fields = more.as_object().expect("fields").clone();
        rule.as_object_mut().expect("an object").extend(fields);
        let body = json!({"rule": rule, "event": event("agent-1")});
        tried(customer, &body).await["then"].to_string()
    };
    assert!(
        follows(json!({}))
            .await
            .contains("https://example.com/hook")
    );
    assert!(
        follows(json!({"enabled": false}))
            .await
            .contains("disabled")
    );
    assert!(follows(json!({"shadow": true})).await.contains("shadow"));
    let snoozed = follows(json!({"snoozed_until": "2099-01-01T00:00:00.000Z"})).await;
    assert!(snoozed.contains("2099-01-01"), "{snoozed}");
    let over = follows(json!({"snoozed_until": "2020-01-01T00:00:00.000Z"})).await;
    assert!(over.contains("is sent"), "{over}");
    let threshold = json!({"count": 5, "window_s": 600, "group_by": ["agent_id"]});
    let counted = follows(json!({ "threshold": threshold })).await;
    assert!(
        counted.contains('5') && counted.contains("agent_id"),
        "{counted}"
    );
    let kept_back = follows(json!({"suppress": {"for_s": 3600}})).await;
    assert!(kept_back.contains("3600"), "{kept_back}");
}

#[tokio::test]
async fn what_is_missing_wrong_or_of_another_organization_is_refused_where_it_stands() {
    let mut running = Running::start(Deployment::new());
    let other = running.deployment.customer(&mut running.server);
    let customer = &running.customer;
    let foreign_rule = other.rule(json!({}), "https://example.com/hook").await;
    let foreign_event = other.ingest(&event("theirs")).await;
    let rule = json!({"match": {}});
    for (body, pointer) in [
        (json!({"event": event("a")}), "/rule"),
        (
            json!({"rule": rule, "rule_id": foreign_rule, "event": event("a")}),
            "/rule",
        ),
        (json!({ "rule": rule }), "/event"),
        (
            json!({"rule": {"match": {"resul": ["x"]}}, "event": event("a")}), // misspelled on purpose
            "/rule/match/resul",
        ),
        (
            json!({"rule": rule, "event": {"color": "red"}}),
            "/event/color",
        ),
    ] {
        let refused = problem(customer.post("/v1/alert-rules/test", &body).await, 422).await;
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{refused}");
    }
    for body in [
        json!({"rule_id": foreign_rule, "event": event("a")}),
        json!({"rule": rule, "event_id": foreign_event}),
        json!({"rule_id": "nonsense", "event": event("a")}),
        json!({"rule": rule, "event_id": "nonsense"}),
    ] {
        problem(customer.post("/v1/alert-rules/test", &body).await, 404).await;
    }
}

#[tokio::test]
async fn trying_a_rule_saves_sends_and_records_nothing() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let rule = json!({"match": {"agent_id": ["tried"]}, "url": receiver.url()});
    let body = json!({"rule": rule, "event": event("tried")});
    assert_eq!(tried(customer, &body).await["matches"], true);
    assert!(customer.all_events().await.is_empty());
    let rules = customer.get_json("/v1/alert-rules").await;
    assert_eq!(rules["data"], json!([]));
    // A rule that is saved is met by the next event, and by nothing from before.
    customer.rule(json!({}), &receiver.url()).await;
    customer.ingest(&event("real")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].json()["event"]["agent_id"], "real");
}

#[tokio::test]
async fn tries_have_a_limit_of_their_own_together() {
    let running = Running::start(Deployment::new().with("LIMITS__RULE_TRIES", "3/60s"));
    let customer = &running.customer;
    let body = json!({"rule": {"match": {}}, "event": event("a")});
    for path in [
        "/v1/alert-rules/test",
        "/v1/alert-rules/backtest",
        "/v1/alert-rules/x/trigger",
    ] {
        let answer = customer.post(path, &body).await;
        assert_ne!(answer.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
    }
    let answer = customer.post("/v1/alert-rules/test", &body).await;
    assert_eq!(problem(answer, 429).await["code"], "RATE_LIMITED");
}
