//! `watchbell mcp serve`: the guard in front of an MCP server that is reached over HTTP.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use testkit::{Era, McpClient, McpServer, Watchbell};

use crate::cli::Terminal;
use crate::deployment::{Customer, DEADLINE, Deployment, Running, http};
use crate::mcp::{calls, decision, read};

const POLICIES: &str = r#"
    @id("tools") permit (principal == Agent::"adder", action in Action::"mcp", resource);
    @id("small")
    @reason("That is too much.")
    forbid (principal, action == Action::"mcp.sums.add", resource)
    when { context.tool_input.a > 1000 };
    @id("failures")
    @verdict("escalate")
    forbid (principal, action == Action::"mcp.sums.fail", resource);
    @id("ten")
    @obligation("[{\"op\":\"replace\",\"path\":\"/b\",\"value\":10}]")
    permit (principal == Agent::"adder", action == Action::"mcp.sums.add", resource)
    when { context.tool_input.a == 7 };
"#;

/// A guard that runs.
pub(crate) struct Guard {
    _process: Watchbell,
    pub(crate) url: String,
}

impl Guard {
    pub(crate) fn start(customer: &Customer, upstream: &str, more: &[&str]) -> Self {
        let terminal = Terminal::of(customer);
        let arguments = [
            "mcp",
            "serve",
            "--agent",
            "adder",
            "--server",
            "sums",
            "--listen",
            "127.0.0.1:0",
        ];
        let mut process =
            terminal.start(&[&arguments[..], &["--upstream", upstream], more].concat());
        let line = process.wait_for_line(DEADLINE, |line| line.contains("listening on"));
        let url = line.rsplit(' ').next().expect("a URL").to_owned();
        Self {
            _process: process,
            url,
        }
    }

    /// As a client posts it.
    pub(crate) async fn post(&self, message: &Value, more: &[(&'static str, &str)]) -> Response {
        let lines = more.iter().map(|(name, value)| {
            let value = HeaderValue::from_str(value).expect("a value");
            (HeaderName::from_static(name), value)
        });
        let request = http()
            .post(&self.url)
            .header("accept", "application/json, text/event-stream")
            .headers(lines.collect::<HeaderMap>())
            .json(message);
        request.send().await.expect("an answer")
    }
}

pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[tokio::test]
async fn both_eras_pass_unchanged_and_each_call_is_decided_and_recorded() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(POLICIES).await;
    let server = McpServer::adding(&[]).expect("a server");
    let guard = Guard::start(customer, server.url(), &[]);
    for era in Era::ALL {
        let [bare, guarded] = [server.url(), &guard.url].map(|url| {
            let mut client = McpClient::of_url(era, url).expect("a client");
            let answers = json!([
                client.tools(),
                client.call("add", &json!({"a": 40, "b": 2})),
                client.call("no_such_tool", &json!({})),
            ]);
            client.close();
            answers
        });
        assert_eq!(bare, guarded, "{era:?}");
        let mut client = McpClient::of_url(era, &guard.url).expect("a client");
        let denied = client.call("add", &json!({"a": 2000, "b": 2}));
        let (text, is_error) = read(&denied);
        assert!(
            is_error && text.contains("That is too much. (policy small, dec_"),
            "{text}"
        );
        let changed = client.call("add", &json!({"a": 7, "b": 2}));
        assert_eq!(read(&changed), ("17", false));
        client.close();
    }
    let events = calls(customer, 8).await;
    let results: Vec<_> = events.iter().map(|event| event["result"].clone()).collect();
    for (result, count) in [("success", 4), ("denied", 2), ("error", 2)] {
        assert_eq!(
            results.iter().filter(|one| *one == result).count(),
            count,
            "{results:?}"
        );
    }
    let decided = decision(customer, &events[7]["decision_id"]).await;
    let context = &decided["metadata"]["question"]["context"];
    assert_eq!(context["mcp_protocol_version"], "2026-07-28");
    assert_eq!(context["mcp_client"], "testkit");
}

#[tokio::test]
async fn a_session_of_the_reference_server_is_one_of_the_trail() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let server = McpServer::everything().expect("a server");
    let guard = Guard::start(customer, server.url(), &[]);
    let mut client = McpClient::of_url(Era::Sessions, &guard.url).expect("a client");
    assert!(client.tools().as_array().expect("tools").len() > 5);
    assert_eq!(
        read(&client.call("echo", &json!({"message": "hi"}))),
        ("Echo: hi", false)
    );
    // Its progress and its result come as a stream of events.
    let slow = client.call(
        "trigger-long-running-operation",
        &json!({"duration": 0.2, "steps": 2}),
    );
    assert!(!read(&slow).1, "{slow}");
    client.close();
    let events = calls(customer, 2).await;
    let session = events[0]["session_id"].as_str().expect("a session");
    assert!(!session.starts_with("mcp-"), "the server's own: {session}");
    assert_eq!(events[1]["session_id"], session);
    assert_eq!(events[1]["result"], "success");
}

#[tokio::test]
async fn a_request_passes_only_if_its_headers_say_the_same_and_it_is_from_here() {
    let running = Running::start(Deployment::new());
    let server = McpServer::adding(&[]).expect("a server");
    let guard = Guard::start(&running.customer, server.url(), &[]);
    let add = call("add", &json!({"a": 1, "b": 2}));
    let unknown = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/execute", "params": {}});
    let cases = [
        (
            &add,
            &[("mcp-method", "tools/list")][..],
            400,
            json!(-32020),
        ),
        (
            &add,
            &[("mcp-method", "tools/call"), ("mcp-name", "fail")],
            400,
            json!(-32020),
        ),
        (&unknown, &[], 200, json!(-32001)),
        (&json!([add]), &[], 200, json!(null)),
        (&json!("add"), &[], 400, json!(-32600)),
    ];
    for (message, headers, status, code) in cases {
        let answer = guard.post(message, headers).await;
        assert_eq!(answer.status().as_u16(), status, "{message} {headers:?}");
        let body: Value = answer.json().await.expect("JSON");
        assert_eq!(body["error"]["code"], code, "{body}");
    }
    let page = guard
        .post(&add, &[("origin", "https://evil.example")])
        .await;
    assert_eq!(page.status(), StatusCode::FORBIDDEN);
    let other = http().get(format!("{}/other", guard.url)).send().await;
    assert_eq!(other.expect("an answer").status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_client_that_goes_away_while_a_person_is_asked_gives_its_call_up() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(POLICIES).await;
    let server = McpServer::adding(&[]).expect("a server");
    let guard = Guard::start(customer, server.url(), &[]);
    let fail = call("fail", &json!({}));
    tokio::select! {
        answer = guard.post(&fail, &[]) => panic!("nobody approved it: {answer:?}"),
        () = is_pending(customer) => {}
    }
    let events = calls(customer, 1).await;
    assert_eq!(events[0]["result"], "canceled");
}

pub(crate) async fn is_pending(customer: &Customer) {
    testkit::eventually(DEADLINE, "a person is asked", async || {
        (!customer.pending().await.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_away_is_an_error_and_on_record() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let url = {
        let server = McpServer::adding(&[]).expect("a server");
        server.url().to_owned()
    };
    let guard = Guard::start(customer, &url, &[]);
    let answer = guard
        .post(&call("add", &json!({"a": 1, "b": 2})), &[])
        .await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    let body: Value = answer.json().await.expect("JSON");
    assert_eq!(
        (&body["id"], &body["error"]["code"]),
        (&json!(7), &json!(-32603))
    );
    let events = calls(customer, 1).await;
    assert_eq!(events[0]["error_code"], "no_response");
}
