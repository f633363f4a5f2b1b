//! Errors: whatever is wrong and whoever noticed, the answer has one form and says what to do.

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::commands::run;
use crate::deployment::{Customer, Deployment, Running, event, ok};

/// Every code that a client may meet, with its status, from the reference.
fn documented_codes() -> BTreeMap<String, u64> {
    let output = run(&["reference", "errors"], []);
    assert!(output.status.success());
    let codes: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let code = |one: &Value| Some((one["code"].as_str()?.to_owned(), one["status"].as_u64()?));
    codes.iter().map(|one| code(one).expect("a code")).collect()
}

/// The problem in an answer that must be one, held against everything that all problems share.
pub(crate) async fn problem(response: Response, status: u16) -> Value {
    let (answered, headers) = (response.status(), response.headers().clone());
    let text = response.text().await.expect("a body");
    assert_eq!(answered.as_u16(), status, "{text}");
    assert_eq!(headers[header::CONTENT_TYPE], "application/problem+json");
    let problem: Value = serde_json::from_str(&text).expect("JSON");
    let code = problem["code"].as_str().expect("a code");
    assert_eq!(
        documented_codes().get(code),
        Some(&u64::from(status)),
        "{code} must be on the reference page with this status"
    );
    assert_eq!(problem["status"], status);
    assert_eq!(
        problem["type"],
        format!("https://watchbell.dev/errors/{code}")
    );
    for field in ["title", "detail"] {
        let text = problem[field].as_str().unwrap_or_default();
        assert!(text.len() > 5, "{field}: {problem}");
    }
    let request_id = headers["x-request-id"].to_str().expect("plain");
    assert_eq!(problem["request_id"], request_id);
    assert!(!request_id.is_empty());
    problem
}

pub(crate) async fn refused(request: RequestBuilder, status: u16, code: &str) -> Value {
    let problem = problem(request.send().await.expect("an answer"), status).await;
    assert_eq!(problem["code"], code, "{problem}");
    problem
}

pub(crate) fn pointers(problem: &Value) -> Vec<&str> {
    let errors = problem["errors"].as_array().expect("errors");
    errors
        .iter()
        .map(|error| error["pointer"].as_str().expect("a pointer"))
        .collect()
}

fn post_text(customer: &Customer, path: &str, body: impl Into<String>) -> RequestBuilder {
    customer
        .request(Method::POST, path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(body.into())
}

#[tokio::test]
async fn what_the_web_framework_refuses_has_the_same_form_as_what_we_refuse() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    for path in [
        "/",
        "/v1",
        "/v1/nothing",
        "/v1/audit/events/",
        "/v2/audit/events",
    ] {
        refused(customer.request(Method::GET, path), 404, "NOT_FOUND").await;
    }
    let cases = [
        (
            Method::DELETE,
            "/v1/audit/events",
            ["GET", "POST"].as_slice(),
        ),
        (Method::OPTIONS, "/v1/alert-rules", &["GET", "POST"]),
        (Method::POST, "/v1/deliveries", &["GET"]),
        (Method::PUT, "/healthz/ready", &["GET"]),
    ];
    for (method, path, allowed) in cases {
        let response = customer.request(method.clone(), path).send().await;
        let response = response.expect("an answer");
        let allow = response.headers()[header::ALLOW].to_str().expect("plain");
        let allow: Vec<String> = allow.split(',').map(|one| one.trim().to_owned()).collect();
        for method in allowed {
            assert!(allow.contains(&(*method).to_owned()), "{path}: {allow:?}");
        }
        assert!(!allow.contains(&method.to_string()), "{path}: {allow:?}");
        let problem = problem(response, 405).await;
        assert_eq!(problem["code"], "METHOD_NOT_ALLOWED");
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_taken_is_refused_with_the_reason() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let ingest = "/v1/audit/events";

    for body in [
        "",
        "{",
        "nonsense",
        "[]x",
        r#"{"events":{}}"#,
        r#"{"events":[]}"#,
        "\u{feff}{}",
    ] {
        refused(post_text(customer, ingest, body), 400, "INVALID_BODY").await;
    }
    let rules = "/v1/alert-rules";
    for body in ["", "{", "[]", "7"] {
        refused(post_text(customer, rules, body), 400, "INVALID_BODY").await;
    }
    for body in [
        "{}",
        r#"{"name":1}"#,
        r#"{"name":"a","match":{},"url":"b","color":1}"#,
    ] {
        refused(post_text(customer, rules, body), 422, "VALIDATION_FAILED").await;
    }
    let not_utf8 = customer
        .request(Method::POST, ingest)
        .header(header::CONTENT_TYPE, "application/json")
        .body(b"{\"event_type\":\"\xff\"}".to_vec());
    refused(not_utf8, 400, "INVALID_BODY").await;

    let body = event("agent-1").to_string();
    for media_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "",
    ] {
        let request = customer.request(Method::POST, ingest).body(body.clone());
        let request = request.header(header::CONTENT_TYPE, media_type);
        refused(request, 415, "UNSUPPORTED_MEDIA_TYPE").await;
    }
    let unsaid = customer.request(Method::POST, ingest).body(body.clone());
    refused(unsaid, 415, "UNSUPPORTED_MEDIA_TYPE").await;
    let compressed = post_text(customer, ingest, body.clone()).header("content-encoding", "br");
    refused(compressed, 415, "UNSUPPORTED_MEDIA_TYPE").await;
    let spelled_out = customer
        .request(Method::POST, ingest)
        .header(header::CONTENT_TYPE, "Application/JSON; charset=utf-8")
        .body(body);
    ok(spelled_out.send().await.expect("an answer")).await;
}

#[tokio::test]
async fn a_list_is_no_object_also_if_it_lists_what_the_fields_of_one_could_be() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({}), "http://127.0.0.1:9/").await;
    let backtest = format!("/v1/alert-rules/{rule}/backtest");
    let question = json!({"agent_id": "agent-1", "action": "files.read"});
    let event =
        json!({"event_type": "tool_call", "agent_id": "a", "action": "b", "result": "success"});
    for (path, body) in [
        (backtest.as_str(), json!([null, null])),
        ("/v1/runtime/decisions", json!(["agent-1", "files.read"])),
        (
            "/v1/policies/test",
            json!({"policies": "", "tests": [["one", question]]}),
        ),
        (
            "/v1/alert-rules/test",
            json!({"rule": ["name"], "event": event}),
        ),
    ] {
        let refused = customer.post(path, &body).await;
        let problem = problem(refused, 400).await;
        assert_eq!(problem["code"], "INVALID_BODY", "{path}: {problem}");
    }
}

#[tokio::test]
async fn a_request_takes_a_thousand_events_and_five_mebibytes_and_no_more() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let ingest = "/v1/audit/events";
    let batch = |count: usize| json!({"events": vec![event("agent-1"); count]}).to_string();
    // Blanks are JSON too, so a body can be brought to any size.
    let padded = |bytes: usize| format!("{}{}", " ".repeat(bytes - batch(1).len()), batch(1));
    let limit = 5 * 1024 * 1024;

    ok(post_text(customer, ingest, batch(1_000))
        .send()
        .await
        .expect("an answer"))
    .await;
    ok(post_text(customer, ingest, padded(limit))
        .send()
        .await
        .expect("an answer"))
    .await;

    let too_many = post_text(customer, ingest, batch(1_001));
    let problem = refused(too_many, 413, "PAYLOAD_TOO_LARGE").await;
    assert!(
        problem["detail"]
            .as_str()
            .expect("a detail")
            .contains("1001")
    );
    let too_large = post_text(customer, ingest, padded(limit + 1));
    refused(too_large, 413, "PAYLOAD_TOO_LARGE").await;
    let far_too_large = post_text(customer, ingest, padded(4 * limit));
    refused(far_too_large, 413, "PAYLOAD_TOO_LARGE").await;
    assert_eq!(customer.all_events().await.len(), 1_001);
}

#[tokio::test]
async fn a_bad_event_does_not_sink_its_batch() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let with = |field: &str, value: Value| {
        let mut event = event("agent-1");
        event[field] = value;
        event
    };
    let mut without_action = event("agent-1");
    without_action
        .as_object_mut()
        .expect("an object")
        .remove("action");
    let batch = json!({"events": [
        event("good-1"),
        without_action,
        with("color", json!("red")),
        event("good-2"),
        with("event_type", json!("Tool Call")),
        with("id", json!("evt_1")),
        with("occurred_at", json!("yesterday")),
        with("client_event_id", json!("c-1")),
        with("metadata", json!("text")),
        with("severity", json!("urgent")),
        7,
        with("metadata", json!({"filler": "x".repeat(40_000)})),
        with("a/b~c", json!(1)),
    ]});
    let answer = customer.post("/v1/audit/events", &batch).await;
    assert_eq!(answer.status(), StatusCode::ACCEPTED);
    let answer: Value = answer.json().await.expect("JSON");

    assert_eq!(answer["ingested"], 2);
    assert_eq!(answer["events"].as_array().expect("events").len(), 2);
    let rejected = answer["rejected"].as_array().expect("rejected");
    let seen: Vec<_> = rejected
        .iter()
        .map(|one| {
            assert!(
                one["detail"]
                    .as_str()
                    .is_some_and(|detail| !detail.is_empty())
            );
            let text = |name: &str| one[name].as_str().expect("a text");
            (
                one["index"].as_u64().expect("an index"),
                text("pointer"),
                text("code"),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (1, "/action", "FIELD_REQUIRED"),
            (2, "/color", "FIELD_UNKNOWN"),
            (4, "/event_type", "FIELD_INVALID"),
            (5, "/id", "FIELD_UNKNOWN"),
            (6, "/occurred_at", "FIELD_INVALID"),
            (7, "/occurred_at", "FIELD_REQUIRED"),
            (8, "/metadata", "FIELD_INVALID"),
            (9, "/severity", "FIELD_INVALID"),
            (10, "", "NOT_AN_OBJECT"),
            (11, "", "EVENT_TOO_LARGE"),
            (12, "/a~1b~0c", "FIELD_UNKNOWN"),
        ]
    );
    let mut agents: Vec<Value> = customer.all_events().await;
    agents.sort_by_key(|event| event["agent_id"].to_string());
    let agents: Vec<&Value> = agents.iter().map(|event| &event["agent_id"]).collect();
    assert_eq!(agents, ["good-1", "good-2"]);
}

#[tokio::test]
async fn a_batch_without_a_good_event_is_refused_and_points_at_each() {
    let running = Running::start(Deployment::new());
    let batch = json!({"events": [{}, {"color": 1}, []]});
    let request = running
        .customer
        .request(Method::POST, "/v1/audit/events")
        .json(&batch);
    let problem = refused(request, 422, "VALIDATION_FAILED").await;
    assert_eq!(
        pointers(&problem),
        ["/events/0/event_type", "/events/1/color", "/events/2"]
    );
    assert!(running.customer.all_events().await.is_empty());
}

#[tokio::test]
async fn a_bare_event_that_is_refused_points_into_the_body_that_was_sent() {
    let running = Running::start(Deployment::new());
    let request = running
        .customer
        .request(Method::POST, "/v1/audit/events")
        .json(&json!({"color": 1}));
    let problem = refused(request, 422, "VALIDATION_FAILED").await;
    assert_eq!(pointers(&problem), ["/color"]);
}

#[tokio::test]
async fn everything_wrong_with_a_rule_is_said_at_once() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = json!({
        "name": " ",
        "description": "x".repeat(10_000),
        "match": {"color": ["red"]},
        "url": "ftp://example.com/",
    });
    let request = customer
        .request(Method::POST, "/v1/alert-rules")
        .json(&rule);
    let problem = refused(request, 422, "VALIDATION_FAILED").await;
    assert_eq!(
        pointers(&problem),
        ["/name", "/match/color", "/description", "/url"]
    );

    let rule =
        |name: &str, pattern: Value, url: &str| json!({"name": name, "match": pattern, "url": url});
    let (url, long_name) = ("http://127.0.0.1:9/", "x".repeat(129));
    let long_url = format!("https://example.com/{}", "x".repeat(5_000));
    let cases = [
        (rule(&long_name, json!({}), url), "/name"),
        (rule("a\0b", json!({}), url), "/name"),
        (rule("a", json!([]), url), "/match"),
        (rule("a", json!({"result": "denied"}), url), "/match/result"),
        (
            rule("a", json!({"result": {"a": [1]}}), url),
            "/match/result",
        ),
        (rule("a", json!({}), "not a url"), "/url"),
        (
            rule("a", json!({}), "http://user:pass@example.com/"),
            "/url",
        ),
        (rule("a", json!({}), &long_url), "/url"),
    ];
    for (rule, pointer) in cases {
        let request = customer
            .request(Method::POST, "/v1/alert-rules")
            .json(&rule);
        let problem = refused(request, 422, "VALIDATION_FAILED").await;
        assert_eq!(pointers(&problem), [pointer], "{rule}");
    }
    let rules = customer.get_json("/v1/alert-rules").await;
    assert_eq!(rules["data"], json!([]), "none was made");
}

#[tokio::test]
async fn a_parameter_that_is_not_understood_is_named() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    for list in ["/v1/audit/events", "/v1/alert-rules", "/v1/deliveries"] {
        let cases = [
            ("limit=0", "limit"),
            ("limit=1001", "limit"),
            ("limit=-1", "limit"),
            ("limit=many", "limit"),
            ("limit=", "limit"),
            ("cursor=", "cursor"),
            ("cursor=nonsense", "cursor"),
            ("cursor=AAAA", "cursor"),
        ];
        for (query, parameter) in cases {
            let request = customer.request(Method::GET, &format!("{list}?{query}"));
            let problem = refused(request, 400, "INVALID_PARAMETER").await;
            assert_eq!(
                pointers(&problem),
                [format!("?{parameter}")],
                "{list}?{query}"
            );
        }
        for query in ["color=red", "limit=1&color=red", "limit=1&limit=2"] {
            let request = customer.request(Method::GET, &format!("{list}?{query}"));
            let problem = refused(request, 400, "INVALID_PARAMETER").await;
            let word = if query.contains("color") {
                "color"
            } else {
                "limit"
            };
            assert!(
                problem["detail"].as_str().expect("a detail").contains(word),
                "{problem}"
            );
        }
    }
    // A cursor of one list is no cursor of another.
    customer.ingest(&event("agent-1")).await;
    customer.ingest(&event("agent-2")).await;
    let page = customer.get_json("/v1/audit/events?limit=1").await;
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    ok(customer
        .get(&format!("/v1/audit/events?cursor={cursor}"))
        .await)
    .await;
    let request = customer.request(Method::GET, &format!("/v1/alert-rules?cursor={cursor}"));
    refused(request, 400, "INVALID_PARAMETER").await;
}

#[tokio::test]
async fn an_id_that_is_none_of_ours_is_not_found() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let rule = customer.rule(json!({}), "http://127.0.0.1:9/").await;
    for list in ["/v1/audit/events", "/v1/alert-rules", "/v1/deliveries"] {
        for id in [
            "x",
            "1",
            "%FF",
            "evt_",
            "..%2F",
            "rul_00000000000000000000000000",
            "😀",
        ] {
            let request = customer.request(Method::GET, &format!("{list}/{id}"));
            refused(request, 404, "NOT_FOUND").await;
        }
    }
    // A rule's id with the name of another kind.
    let disguised = rule.replace("rul_", "evt_");
    let request = customer.request(Method::GET, &format!("/v1/alert-rules/{disguised}"));
    refused(request, 404, "NOT_FOUND").await;
}

#[tokio::test]
async fn the_clients_request_id_is_echoed_when_plain_and_replaced_when_not() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let ask = async |path: &str, id: &[u8]| {
        let request = customer.request(Method::GET, path);
        let value = header::HeaderValue::from_bytes(id).expect("a header");
        let response = request.header("x-request-id", value).send().await;
        response.expect("an answer")
    };
    let longest = "a".repeat(64);
    for id in ["abc-123_X.y", "1", &longest] {
        for path in ["/v1/audit/events", "/healthz/live", "/metrics"] {
            let response = ask(path, id.as_bytes()).await;
            assert!(response.status().is_success());
            assert_eq!(response.headers()["x-request-id"], id, "{path}");
        }
        let problem = problem(ask("/v1/nothing", id.as_bytes()).await, 404).await;
        assert_eq!(problem["request_id"], id);
    }
    let too_long = "a".repeat(65);
    for id in [
        b"".as_slice(),
        b"a b",
        b"<script>",
        b"\"",
        b"\xff",
        too_long.as_bytes(),
    ] {
        let response = ask("/v1/nothing", id).await;
        let given = response.headers()["x-request-id"].as_bytes().to_vec();
        assert_ne!(given, id);
        assert_eq!(given.len(), 32);
        problem(response, 404).await;
    }
    let own = async || {
        let response = customer.get("/healthz/live").await;
        response.headers()["x-request-id"].clone()
    };
    assert_ne!(own().await, own().await);
}
