//! Each row of spec section 8 has a window to itself: whatever else a caller asks for takes nothing from it.

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::json;

use crate::deployment::{Customer, Deployment, event};

/// How many of each row are admitted.
const ADMITTED: usize = 3;

/// A row, and what is near it without being it.
struct Row {
    policy: &'static str,
    setting: &'static str,
    itself: fn(&Customer) -> RequestBuilder,
    beside: fn(&Customer) -> Vec<RequestBuilder>,
}

/// The rows that are counted for each API key.
const ROWS: [Row; 5] = [
    Row {
        policy: "ingest",
        setting: "LIMITS__INGEST",
        itself: |customer| send(customer, "/v1/audit/events", &event("agent")),
        beside: |customer| {
            let used = json!({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"},
                "hook_event_name": "PostToolUse"});
            vec![send(customer, "/v1/hooks/claude-code/post-tool-use", &used)]
        },
    },
    Row {
        policy: "list",
        setting: "LIMITS__LIST",
        itself: |customer| customer.request(Method::GET, "/v1/audit/events?limit=1"),
        beside: |customer| {
            let paths = [
                "/v1/audit/stats?by=result",
                "/v1/audit/facets",
                "/v1/audit/events/stream",
                "/v1/overview",
                "/v1/audit/exports",
                "/v1/audit/exports/exp_01jcq3k5m8e9ratvw2x4y6z8ab",
                "/v1/runtime/approvals",
                "/v1/runtime/approvals/stream",
            ];
            let get = |path: &str| customer.request(Method::GET, path);
            let cancel = "/v1/audit/exports/exp_01jcq3k5m8e9ratvw2x4y6z8ab";
            let cancel = customer.request(Method::DELETE, cancel);
            paths.into_iter().map(get).chain([cancel]).collect()
        },
    },
    Row {
        policy: "export",
        setting: "LIMITS__EXPORT",
        itself: |customer| send(customer, "/v1/audit/export", &json!({})),
        beside: |customer| vec![customer.request(Method::GET, "/v1/audit/exports")],
    },
    Row {
        policy: "decisions",
        setting: "LIMITS__DECISIONS",
        itself: |customer| {
            let question = json!({"agent_id": "agent", "action": "files.delete"});
            send(customer, "/v1/runtime/decisions", &question)
        },
        beside: |customer| {
            let evaluated = json!({"subject": {"type": "agent", "id": "agent"},
                "action": {"name": "files.delete"}, "resource": {"type": "file", "id": "1"}});
            let about = json!({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"},
                "hook_event_name": "PreToolUse"});
            let known = "/v1/runtime/decisions/dec_01jcq3k5m8e9ratvw2x4y6z8ab";
            vec![
                send(customer, "/access/v1/evaluation", &evaluated),
                send(customer, "/access/v1/evaluations", &evaluated),
                send(customer, "/v1/hooks/claude-code/pre-tool-use", &about),
                customer.request(Method::GET, known),
            ]
        },
    },
    Row {
        policy: "rule_writes",
        setting: "LIMITS__RULE_WRITES",
        itself: |customer| {
            let rule = json!({"name": "Rule", "match": {}, "url": "https://example.com/hook"});
            send(customer, "/v1/alert-rules", &rule)
        },
        beside: |customer| {
            let rule = "/v1/alert-rules/rul_01jcq3k5m8e9ratvw2x4y6z8ab";
            vec![
                customer.request(Method::GET, "/v1/alert-rules"),
                customer.request(Method::DELETE, rule),
                send(customer, &format!("{rule}/trigger"), &json!({})),
            ]
        },
    },
];

fn send(customer: &Customer, path: &str, body: &serde_json::Value) -> RequestBuilder {
    customer.request(Method::POST, path).json(body)
}

/// What it is answered with, and the window that it was counted in. The rest of a stream is not waited for.
async fn answered(request: RequestBuilder) -> (StatusCode, String) {
    let answer = request.send().await.expect("an answer");
    let policy = answer.headers().get("ratelimit-policy");
    let policy = policy.and_then(|policy| policy.to_str().ok());
    let policy = policy.and_then(|policy| policy.split('"').nth(1));
    (answer.status(), policy.unwrap_or_default().to_owned())
}

#[tokio::test]
async fn what_is_asked_beside_a_row_of_section_8_takes_nothing_from_it() {
    let quota = format!("{ADMITTED}/1h");
    let limited = |deployment: Deployment, row: &Row| deployment.with(row.setting, &quota);
    let deployment = ROWS.iter().fold(Deployment::new(), limited);
    let mut server = deployment.serve("api,index");
    let customer = deployment.customer(&mut server);
    for row in &ROWS {
        for _ in 0..=ADMITTED {
            for (number, request) in (0..).zip((row.beside)(&customer)) {
                let (status, policy) = answered(request).await;
                let what = format!("number {number} beside {}: {policy} {status}", row.policy);
                assert!(!policy.is_empty() && policy != row.policy, "{what}");
                assert_ne!(status, 429, "{what}");
            }
        }
        for _ in 0..ADMITTED {
            let (status, policy) = answered((row.itself)(&customer)).await;
            assert!(status.is_success(), "{policy} {status}");
            assert_eq!(policy, row.policy);
        }
        let one_more = answered((row.itself)(&customer)).await.0;
        assert_eq!(one_more, 429, "{}", row.policy);
    }
}
