//! What a rule may say, how many there may be, and how they are found.

use futures::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::Receiver;

use crate::deployment::{Customer, Deployment, Running, ok};
use crate::errors::problem;

const RULES: &str = "/v1/alert-rules";
const URL: &str = "https://example.com/hook";

async fn try_rule(customer: &Customer, pattern: Value) -> StatusCode {
    let body = json!({"name": "r", "match": pattern, "url": URL});
    customer.post(RULES, &body).await.status()
}

fn pointers(problem: &Value) -> Vec<&str> {
    let errors = problem["errors"].as_array().expect("errors");
    let mut pointers: Vec<_> = errors
        .iter()
        .map(|error| error["pointer"].as_str().expect("a pointer"))
        .collect();
    pointers.sort_unstable();
    pointers
}

#[tokio::test]
async fn everything_that_is_wrong_with_a_rule_is_said_at_once_and_where() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let wrong = json!({"match": {"color": ["red"]}, "url": "ftp://example.com", "serverity": "high", // misspelled on purpose
        "threshold": {"count": 1, "window_s": 0, "group_by": ["agent"]}, "tags": "x",
        "tests": [{"event": {"color": 1}, "matches": true}]});
    let refused = problem(customer.post(RULES, &wrong).await, 422).await;
    assert_eq!(refused["code"], "VALIDATION_FAILED");
    let expected = [
        "/match/color",
        "/name",
        "/serverity", // misspelled on purpose
        "/tags",
        "/tests/0/event/color",
        "/threshold/count",
        "/threshold/group_by/0",
        "/threshold/window_s",
        "/url",
    ];
    assert_eq!(pointers(&refused), expected, "{refused}");
    let text = refused.to_string();
    assert!(text.contains("did you mean `severity`?"), "{text}");
    assert!(text.contains("did you mean `agent_id`?"), "{text}");

    let missing = problem(customer.post(RULES, &json!({})).await, 422).await;
    assert_eq!(pointers(&missing), ["/match", "/name", "/url"]);
    assert_eq!(missing["errors"][0]["code"], "FIELD_REQUIRED");
    problem(customer.post(RULES, &json!([])).await, 400).await;
    assert_eq!(customer.get_json(RULES).await["data"], json!([]));
}

#[tokio::test]
async fn all_that_is_written_is_read_back_and_an_exception_keeps_its_test() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let written = json!({
        "name": "Refunds", "description": "d", "enabled": false, "match": {"action": ["payments.refund"]},
        "except": [{"agent_id": ["ci"]}], "url": URL, "severity": "high",
        "runbook_url": "https://example.com/runbook", "tags": ["money"], "shadow": true,
        "snoozed_until": "2030-01-01T00:00:00.000Z",
        "threshold": {"count": 5, "window_s": 600, "group_by": ["agent_id"]},
        "suppress": {"for_s": 3600, "group_by": ["metadata.region"]},
        "tests": [{"event": {"action": "payments.refund", "agent_id": "a"}, "matches": true},
                  {"event": {"action": "payments.refund", "agent_id": "ci"}, "matches": false}],
    });
    let made = ok(customer.post(RULES, &written).await).await;
    for (field, value) in written.as_object().expect("fields") {
        assert_eq!(&made[field], value, "{field}");
    }
    let path = format!("{RULES}/{}", made["id"].as_str().expect("an id"));
    assert_eq!(customer.get_json(&path).await, made);
    assert_eq!(customer.get_json(RULES).await["data"], json!([made]));

    let fields = json!({"except": null});
    let changed = customer.request(Method::PATCH, &path).json(&fields);
    let refused = problem(changed.send().await.expect("an answer"), 422).await;
    assert_eq!(pointers(&refused), ["/tests/1"]);
    let detail = refused["detail"].as_str().expect("a text");
    assert!(detail.contains("The rule matches this event"), "{detail}");
    assert_eq!(customer.get_json(&path).await, made);
}

#[tokio::test]
async fn an_organization_never_has_more_rules_than_it_may_however_many_ask_at_once() {
    let deployment = Deployment::new().with("ALERTS__RULES_PER_ORG_MAX", "5");
    let mut running = Running::start(deployment);
    let other = running.deployment.customer(&mut running.server);
    let customer = &running.customer;
    let asked = (0..20).map(|_| try_rule(customer, json!({"result": ["denied"]})));
    let answers = join_all(asked).await;
    let count = |status: StatusCode| answers.iter().filter(|one| **one == status).count();
    assert_eq!(
        (count(StatusCode::CREATED), count(StatusCode::CONFLICT)),
        (5, 15),
        "{answers:?}"
    );
    let rules = customer.get_json(RULES).await;
    let rules = rules["data"].as_array().expect("data");
    assert_eq!(rules.len(), 5);
    assert_eq!(
        try_rule(&other, json!({})).await,
        201,
        "others have their own"
    );

    let path = format!("{RULES}/{}", rules[0]["id"].as_str().expect("an id"));
    let deleted = customer.request(Method::DELETE, &path).send().await;
    assert_eq!(deleted.expect("an answer").status(), 204);
    assert_eq!(try_rule(customer, json!({})).await, 201);
    let body = json!({"name": "r", "match": {}, "url": URL});
    let refused = problem(customer.post(RULES, &body).await, 409).await;
    assert_eq!(refused["code"], "LIMIT_REACHED");
}

#[tokio::test]
async fn at_most_50_rules_are_such_that_every_event_is_tested_by_them() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    for _ in 0..46 {
        assert_eq!(try_rule(customer, json!({})).await, 201);
    }
    let answers = join_all((0..10).map(|_| try_rule(customer, json!({})))).await;
    let made = answers.iter().filter(|status| **status == 201).count();
    assert_eq!(made, 4, "{answers:?}");

    let indexed = customer.rule(json!({"result": ["denied"]}), URL).await;
    let path = format!("{RULES}/{indexed}");
    let widened = customer.request(Method::PATCH, &path);
    let widened = widened.json(&json!({"match": {}})).send().await;
    let refused = problem(widened.expect("an answer"), 409).await;
    assert_eq!(refused["code"], "LIMIT_REACHED");
    let detail = refused["detail"].as_str().expect("a text");
    assert!(
        detail.contains("event_type"),
        "it says what to write: {detail}"
    );
    let page = customer.get_json(RULES).await;
    let mut wide = page["data"].as_array().expect("data").iter();
    let wide = wide.find(|rule| rule["match"] == json!({}));
    let wide = wide.expect("one of them")["id"].as_str().expect("an id");
    let renamed = customer.request(Method::PATCH, &format!("{RULES}/{wide}"));
    let renamed = renamed.json(&json!({"name": "still wide"})).send().await;
    ok(renamed.expect("an answer")).await;
}

#[tokio::test]
async fn rules_are_listed_by_whether_they_are_enabled_and_by_tag() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    for (name, enabled, tags) in [
        ("a", true, json!(["x", "y"])),
        ("b", false, json!(["y"])),
        ("c", true, json!([])),
        ("d", true, json!(["y"])),
    ] {
        let body = json!({"name": name, "match": {}, "url": URL, "enabled": enabled, "tags": tags});
        ok(customer.post(RULES, &body).await).await;
    }
    for (query, expected) in [
        ("", "dcba"),
        ("?enabled=true", "dca"),
        ("?enabled=false", "b"),
        ("?tag=y", "dba"),
        ("?tag=y&enabled=true", "da"),
        ("?tag=z", ""),
    ] {
        let page = customer.get_json(&format!("{RULES}{query}")).await;
        let rules = page["data"].as_array().expect("data").iter();
        let names: String = rules.filter_map(|rule| rule["name"].as_str()).collect();
        assert_eq!(names, expected, "{query}");
    }
    let first = customer.get_json(&format!("{RULES}?tag=y&limit=2")).await;
    let cursor = first["next_cursor"].as_str().expect("there is more");
    let rest = customer
        .get_json(&format!("{RULES}?tag=y&limit=2&cursor={cursor}"))
        .await;
    assert_eq!(rest["data"][0]["name"], "a");
    assert_eq!(rest["next_cursor"], Value::Null);
    for query in [
        "?enabled=yes",
        "?tag=",
        "?tag=%00",
        "?color=red",
        "?tag=a&tag=b",
    ] {
        problem(customer.get(&format!("{RULES}{query}")).await, 400).await;
    }
}

#[tokio::test]
async fn what_a_rule_did_in_the_last_day_is_shown_beside_it() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let quiet = customer
        .rule(json!({"agent_id": ["q"]}), &receiver.url())
        .await;
    let busy = customer
        .rule(json!({"agent_id": ["b"]}), &receiver.url())
        .await;
    running.deployment.sql(
        "INSERT INTO rule_counts (org_id, rule_id, bucket, matched, alerts, suppressed, withheld,
                                  overflows, last_at)
         SELECT org_id, id, date_trunc('hour', now()) - make_interval(hours => ago), 10, 3, 2, 4, 1,
                date_trunc('hour', now()) - make_interval(hours => ago)
         FROM (SELECT org_id, id FROM alert_rules ORDER BY id DESC LIMIT 1) AS rule,
              (VALUES (0), (5), (23), (24), (300)) AS hours (ago)",
    );
    let none = json!({"matched_24h": 0, "alerts_24h": 0, "suppressed_24h": 0, "withheld_24h": 0,
        "overflows_24h": 0, "last_matched_at": null});
    let shown = customer.get_json(&format!("{RULES}/{quiet}")).await;
    assert_eq!(shown["stats"], none);
    let shown = customer.get_json(&format!("{RULES}/{busy}")).await;
    let stats = &shown["stats"];
    let counts = [
        &stats["matched_24h"],
        &stats["alerts_24h"],
        &stats["suppressed_24h"],
        &stats["withheld_24h"],
        &stats["overflows_24h"],
    ];
    assert_eq!(counts, [30, 9, 6, 12, 3]);
    assert!(stats["last_matched_at"].is_string(), "{stats}");
    let listed = customer.get_json(RULES).await;
    assert_eq!(&listed["data"][0]["stats"], stats);
    assert_eq!(listed["data"][1]["stats"], none);
}
