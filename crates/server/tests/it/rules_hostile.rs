//! Rules that mean harm: each is refused at once, and says where and why.

use std::time::Duration;

use reqwest::{Method, header};
use serde_json::{Value, json};
use testkit::Stopwatch;

use crate::deployment::{Deployment, Running};
use crate::errors::problem;

const RULES: &str = "/v1/alert-rules";
/// An answer comes long before this, also from a debug build on a busy machine.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// No answer repeats much of what it was asked.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

fn rule(pattern: &Value) -> String {
    json!({"name": "r", "match": pattern, "url": "https://example.com/hook"}).to_string()
}

/// What somebody sends, the status that answers it, and where the fault stands if there is one.
fn hostile() -> Vec<(&'static str, String, u16, &'static str)> {
    let texts = |count: usize| -> Vec<Value> {
        let text = |number: usize| json!({"contains": format!("x{number}")});
        (0..count).map(text).collect()
    };
    let branches = |count: usize| -> Vec<Value> {
        let branch = |_| json!({"metadata": {"list": texts(60)}});
        (0..count).map(branch).collect()
    };
    let deep = (0..100).fold(json!(["x"]), |inside, _| json!({"a": inside}));
    let keys: Vec<String> = (0..400_000).map(|key| format!("\"k{key}\":1")).collect();
    let few_keys: Vec<String> = (0..5_000).map(|key| format!("\"k{key}\":1")).collect();
    vec![
        (
            "a text of 1 MB",
            rule(&json!({"action": ["x".repeat(1_000_000)]})),
            413,
            "",
        ),
        (
            "a text of 5,000 bytes",
            rule(&json!({"action": ["x".repeat(5_000)]})),
            422,
            "/match",
        ),
        (
            "a text of 1,000 bytes",
            rule(&json!({"action": ["x".repeat(1_000)]})),
            422,
            "/match/action/0",
        ),
        (
            "10,000 alternatives",
            rule(&json!({"action": vec!["a"; 10_000]})),
            422,
            "/match",
        ),
        (
            "100 alternatives",
            rule(&json!({"action": vec!["a"; 100]})),
            422,
            "/match/action",
        ),
        (
            "exponential wildcards",
            rule(&json!({"action": [{"wildcard": "*a".repeat(100)}]})),
            422,
            "/match/action/0/wildcard",
        ),
        (
            "many texts in every element of a list",
            rule(&json!({"event_type": ["tool_call"], "$or": branches(3)})),
            422,
            "/match",
        ),
        (
            "deep nesting",
            rule(&json!({"metadata": deep})),
            422,
            "/match/metadata/a/a/a/a/a/a",
        ),
        (
            "nesting that no parser follows",
            format!("{{\"match\":{}", "{\"a\":".repeat(40_000)),
            400,
            "",
        ),
        ("400,000 names", format!("{{{}}}", keys.join(",")), 413, ""),
        (
            "5,000 names",
            format!("{{{}}}", few_keys.join(",")),
            422,
            "/match",
        ),
        (
            "a name given twice",
            r#"{"name":"r","url":"https://example.com","match":{"action":["a"],"action":["b"]}}"#
                .to_owned(),
            422,
            "/match/action",
        ),
    ]
}

#[tokio::test]
async fn hostile_rules_are_refused_at_once_and_say_where() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    for (what, body, status, pointer) in hostile() {
        let request = customer
            .request(Method::POST, RULES)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body);
        let asked = Stopwatch::start();
        let refused = problem(request.send().await.expect("an answer"), status).await;
        assert!(
            asked.elapsed() < ANSWER_WITHIN,
            "{what}: {:?}",
            asked.elapsed()
        );
        let text = refused.to_string();
        assert!(
            text.len() < ANSWER_BYTES_MAX,
            "{what}: {} bytes",
            text.len()
        );
        if status == 422 {
            let errors = refused["errors"].as_array().expect("errors");
            let mut pointers = errors.iter().map(|fault| &fault["pointer"]);
            assert!(pointers.any(|one| one == pointer), "{what}: {text}");
        }
    }
    let rules = customer.get_json(RULES).await;
    assert_eq!(rules["data"], json!([]));
}
