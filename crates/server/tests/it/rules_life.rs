//! The life of a rule: every change is a version and an event, and nobody overwrites another unseen.

use futures::future::join_all;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use testkit::{Receiver, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, ok};
use crate::errors::problem;
use crate::people::Town;

const URL: &str = "https://example.com/hook";

/// Sends a change that is meant for one version.
async fn send_if(
    customer: &Customer,
    method: Method,
    path: &str,
    (condition, body): (&str, &Value),
) -> Response {
    let request = customer.request(method, path).header("If-Match", condition);
    request.json(body).send().await.expect("an answer")
}

/// The events that say who changed rules, oldest first.
async fn changes(customer: &Customer) -> Vec<Value> {
    let path = "/v1/audit/events?event_type=rule_change&order=asc&limit=1000";
    let page = customer.get_json(path).await;
    page["data"].as_array().expect("data").clone()
}

#[tokio::test]
async fn every_change_is_a_version_that_one_can_go_back_to_and_that_outlives_the_rule() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({"result": ["denied"]}), URL).await;
    let path = format!("/v1/alert-rules/{rule}");
    let changed = json!({"match": {"agent_id": ["a"]}, "severity": "high", "tags": ["money"]});
    customer.patch(&path, &changed).await;
    customer.patch(&path, &json!({"enabled": false})).await;

    let first = customer.get_json(&format!("{path}/versions/1")).await;
    let back = customer
        .request(Method::PUT, &path)
        .json(&first["definition"]);
    let back = ok(back.send().await.expect("an answer")).await;
    assert_eq!(back["version"], 4, "{back}");
    assert_eq!(back["match"], json!({"result": ["denied"]}));
    assert_eq!(
        (&back["severity"], &back["enabled"]),
        (&Value::Null, &json!(true))
    );
    customer.delete(&path).await;

    let (mut versions, mut next) = (Vec::new(), format!("{path}/versions?limit=2"));
    loop {
        let page = customer.get_json(&next).await;
        versions.extend(page["data"].as_array().expect("data").iter().cloned());
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        next = format!("{path}/versions?limit=2&cursor={cursor}");
    }
    let told: Vec<Value> = versions
        .iter()
        .map(|one| json!([one["version"], one["what"], one["changed"]]))
        .collect();
    assert_eq!(
        json!(told),
        json!([
            [5, "deleted", []],
            [4, "enabled", ["enabled", "match", "severity", "tags"]],
            [3, "disabled", ["enabled"]],
            [2, "updated", ["match", "severity", "tags"]],
            [1, "created", []],
        ])
    );
    assert_eq!(versions[1]["definition"], versions[0]["definition"]);
    let by = versions[0]["made_by"].as_str().expect("who");
    assert!(by.starts_with("key_"), "{by}");
    problem(customer.get(&path).await, 404).await;
    problem(customer.get(&format!("{path}/versions/6")).await, 404).await;
    problem(customer.get(&format!("{path}/versions/x")).await, 404).await;
}

#[tokio::test]
async fn a_change_meant_for_another_version_is_refused_and_says_which_there_is() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let body = json!({"name": "A", "match": {}, "url": URL});
    let made = customer.post("/v1/alert-rules", &body).await;
    assert_eq!(made.headers()["etag"], "\"1\"");
    let id = ok(made).await["id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/alert-rules/{id}");
    let named = |name: &str| json!({"name": name, "match": {}, "url": URL});

    let put = send_if(customer, Method::PUT, &path, ("\"1\"", &named("B"))).await;
    assert_eq!(put.headers()["etag"], "\"2\"");
    ok(put).await;
    assert_eq!(customer.get(&path).await.headers()["etag"], "\"2\"");
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        for stale in ["\"1\"", "W/\"2\"", "\"two\"", "\"1\", \"3\""] {
            let answer = send_if(customer, method.clone(), &path, (stale, &named("C"))).await;
            let refused = problem(answer, 412).await;
            assert_eq!(refused["code"], "PRECONDITION_FAILED", "{method} {stale}");
            let detail = refused["detail"].as_str().expect("a text");
            assert!(detail.contains("version 2"), "{detail}");
        }
        for malformed in ["2", "\"2", "\"2\" \"3\"", ""] {
            let answer = send_if(customer, method.clone(), &path, (malformed, &named("C"))).await;
            let refused = problem(answer, 400).await;
            assert_eq!(refused["code"], "INVALID_PARAMETER", "{method} {malformed}");
        }
    }
    assert_eq!(
        customer.get_json(&path).await["name"],
        "B",
        "nothing was written"
    );
    ok(send_if(customer, Method::PATCH, &path, ("*", &named("C"))).await).await;
    ok(send_if(
        customer,
        Method::PATCH,
        &path,
        ("\"2\", \"3\"", &named("D")),
    )
    .await)
    .await;
    let gone = send_if(customer, Method::DELETE, &path, ("\"4\"", &json!({}))).await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn of_many_who_change_the_same_version_exactly_one_wins() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({}), URL).await;
    let path = format!("/v1/alert-rules/{rule}");
    let changes = (0..16).map(|number| {
        let path = &path;
        async move {
            let fields = json!({"name": format!("Name {number}")});
            let answer = send_if(customer, Method::PATCH, path, ("\"1\"", &fields)).await;
            answer.status().as_u16()
        }
    });
    let mut answers = join_all(changes).await;
    answers.sort_unstable();
    assert_eq!(answers[0], 200);
    assert_eq!(answers[1..], [412; 15]);
    assert_eq!(customer.get_json(&path).await["version"], 2);
}

#[tokio::test]
async fn what_changes_nothing_makes_no_version_and_no_event() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let same = json!({"name": "Same", "match": {"result": ["denied"]}, "url": URL});
    let path = format!("/v1/alert-rules/{}", customer.make_rule(&same).await);
    let before = customer.get_json(&path).await;
    let put = customer.request(Method::PUT, &path).json(&same);
    assert_eq!(ok(put.send().await.expect("an answer")).await, before);
    let fields = json!({"enabled": true, "tags": null, "description": null});
    assert_eq!(customer.patch(&path, &fields).await, before);
    assert_eq!(changes(customer).await.len(), 1, "that it was made");
}

#[tokio::test]
async fn who_changed_what_is_in_the_trail_and_rules_that_ask_for_it_alert_of_it() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let (all, watch) = (Receiver::start(), Receiver::start());
    let (all, watch) = (all.expect("a receiver"), watch.expect("a receiver"));
    let watched = json!({"event_type": ["rule_change"],
        "action": ["alert_rules.disable", "alert_rules.delete"]});
    customer
        .rule(json!({"result": ["success"]}), &all.url())
        .await;
    let watching = json!({"name": "Watch", "match": watched, "url": watch.url()});
    ok(customer.post("/v1/alert-rules", &watching).await).await;
    let rule = customer.rule(json!({}), &all.url()).await;
    let path = format!("/v1/alert-rules/{rule}");
    customer
        .patch(&path, &json!({"name": "Everything", "tags": ["x"]}))
        .await;
    customer.patch(&path, &json!({"enabled": false})).await;
    customer.patch(&path, &json!({"enabled": true})).await;
    customer.ingest(&event("agent-1")).await;
    all.wait_for(1, DEADLINE).await;
    customer.delete(&path).await;

    let told: Vec<Value> = changes(customer)
        .await
        .iter()
        .filter(|event| event["metadata"]["rule_id"] == rule.as_str())
        .map(|event| {
            let metadata = &event["metadata"];
            let about = [
                &metadata["version"],
                &metadata["name"],
                &metadata["changed"],
            ];
            json!([event["action"], event["result"], about])
        })
        .collect();
    assert_eq!(
        json!(told),
        json!([
            ["alert_rules.create", "success", [1, "Test rule", []]],
            [
                "alert_rules.update",
                "success",
                [2, "Everything", ["name", "tags"]]
            ],
            [
                "alert_rules.disable",
                "success",
                [3, "Everything", ["enabled"]]
            ],
            [
                "alert_rules.enable",
                "success",
                [4, "Everything", ["enabled"]]
            ],
            ["alert_rules.delete", "success", [5, "Everything", []]],
        ])
    );
    let by = changes(customer).await[0]["agent_id"].clone();
    let versions = customer.get_json(&format!("{path}/versions")).await;
    assert_eq!(versions["data"][0]["made_by"], by);
    let alerts = watch.wait_for(2, DEADLINE).await;
    let mut actions: Vec<_> = alerts
        .iter()
        .map(|alert| alert.json()["event"]["action"].clone())
        .collect();
    actions.sort_by_key(ToString::to_string);
    assert_eq!(actions, ["alert_rules.delete", "alert_rules.disable"]);
    let received = all.received();
    assert_eq!(received.len(), 1, "an exception leaves rules out");
    assert_eq!(received[0].json()["event"]["agent_id"], "agent-1");
}

#[tokio::test]
async fn a_change_whose_node_died_before_the_trail_had_it_is_told_once_by_another() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({"agent_id": ["a"]}), URL).await;
    assert_eq!(changes(customer).await.len(), 1);
    // One was recorded, but its node died before it noted that; the other was only saved.
    running.deployment.sql(
        "UPDATE alert_rule_versions SET is_recorded = false;
         INSERT INTO alert_rule_versions
         SELECT org_id, rule_id, 2, 'disabled', '{enabled}', definition, made_by,
                now() - interval '1 minute', false
         FROM alert_rule_versions",
    );
    eventually(DEADLINE, "both are told", async || {
        let left = "SELECT count(*) FROM alert_rule_versions WHERE NOT is_recorded";
        running.deployment.sql(left).trim() == "0"
    })
    .await;
    let told = changes(customer).await;
    let mut actions: Vec<_> = told.iter().map(|event| event["action"].clone()).collect();
    actions.sort_by_key(ToString::to_string);
    assert_eq!(actions, ["alert_rules.create", "alert_rules.disable"]);
    assert!(
        told.iter()
            .all(|event| event["metadata"]["rule_id"] == rule.as_str())
    );
}

#[tokio::test]
async fn a_hundred_versions_of_a_rule_are_kept_and_those_of_a_deleted_one_as_long_as_events() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let busy = customer.rule(json!({}), URL).await;
    let path = format!("/v1/alert-rules/{busy}");
    for number in 2..=104 {
        customer
            .patch(&path, &json!({"description": number.to_string()}))
            .await;
    }
    let versions = customer.get_json(&format!("{path}/versions")).await;
    let versions = versions["data"].as_array().expect("data");
    assert_eq!(versions.len(), 100);
    assert_eq!(
        (&versions[0]["version"], &versions[99]["version"]),
        (&json!(104), &json!(5))
    );

    let mut gone = Vec::new();
    for name in ["long ago", "yesterday"] {
        let rule = customer.rule(json!({"agent_id": [name]}), URL).await;
        customer.delete(&format!("/v1/alert-rules/{rule}")).await;
        gone.push(format!("/v1/alert-rules/{rule}/versions"));
    }
    running.deployment.sql(
        "UPDATE alert_rule_versions SET made_at = made_at - interval '184 days'
         WHERE definition LIKE '%long ago%' OR version = 5",
    );
    let _index = running.deployment.serve("index");
    eventually(DEADLINE, "the older is forgotten", async || {
        customer.get(&gone[0]).await.status() == 404
    })
    .await;
    let kept = customer.get_json(&gone[1]).await;
    assert_eq!(kept["data"].as_array().expect("data").len(), 2);
    let kept = customer.get_json(&format!("{path}/versions")).await;
    assert_eq!(kept["data"].as_array().expect("data").len(), 100);
}

#[tokio::test]
async fn a_viewer_sees_rules_and_versions_and_changes_none_and_strangers_see_neither() {
    let town = Town::start();
    let ann = town.owner().await;
    let viewer = town.invited(&ann, "viewer").await;
    let body = json!({"name": "A", "match": {}, "url": "http://127.0.0.1:9"});
    let made = ok(ann.post("/v1/alert-rules", &body).await).await;
    let path = format!("/v1/alert-rules/{}", made["id"].as_str().expect("an id"));
    let (ann_id, _) = ann.ids().await;
    assert_eq!(made["created_by"], ann_id.as_str());
    assert_eq!(made["updated_by"], ann_id.as_str());

    assert_eq!(viewer.get_json(&path).await, made);
    viewer.get_json(&format!("{path}/versions")).await;
    viewer.get_json(&format!("{path}/versions/1")).await;
    let stranger = town.owner().await;
    let (versions, version) = (format!("{path}/versions"), format!("{path}/versions/1"));
    for (method, path) in [
        (Method::PUT, &path),
        (Method::PATCH, &path),
        (Method::DELETE, &path),
        (Method::GET, &path),
        (Method::GET, &versions),
        (Method::GET, &version),
    ] {
        let send = async |person: &crate::people::Person| {
            let request = person.request(method.clone(), path).json(&body);
            request.send().await.expect("an answer")
        };
        problem(send(&stranger).await, 404).await;
        if method != Method::GET {
            problem(send(&viewer).await, 403).await;
        }
    }
    assert_eq!(ann.get_json(&path).await, made);
}
