//! MCP servers and clients that mean harm, and what the guard between them lets through.

use std::fs;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use axum::response::Response;
use serde_json::{Value, json};
use testkit::{Era, McpClient, mcp};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::cli::{Said, Terminal};
use crate::deployment::{Deployment, Running, http};
use crate::mcp::{calls, guarded, read, variables};
use crate::mcp_serve::{Guard, call, is_pending};

const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;
const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";

/// A server behind the guard that reads one line and then runs this.
fn with_server(terminal: &Terminal, input: &str, script: &str) -> Said {
    let script = format!("read line; {script}");
    let arguments = [
        "mcp", "wrap", "--agent", "a", "--server", "s", "--", "sh", "-c", &script,
    ];
    terminal.run_with(input, &arguments)
}

fn lines(said: &Said) -> Vec<Value> {
    let lines = said.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[tokio::test]
async fn a_server_answers_only_what_it_was_asked() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let answer = |id: Value| json!({"jsonrpc": "2.0", "id": id, "result": {}});
    let [first, text, other] = [json!(1), json!("1"), json!(2)].map(answer);
    let script = format!(
        "echo '{text}'; echo '{other}'; echo '[{first},{first}]'; echo '{first}'; echo '{first}'"
    );
    let said = with_server(&terminal, &format!("{ping}\n"), &script);
    let refused = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message":
        "the MCP server answered what the guard does not let through"}});
    // Of two answers in one message neither counts, and the request is over.
    assert_eq!(lines(&said), [refused], "{}", said.stderr);
    assert_eq!(
        said.stderr.matches("nobody made").count(),
        5,
        "{}",
        said.stderr
    );
}

#[tokio::test]
async fn a_call_ends_even_if_its_answer_cannot_be_read() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    let call = call("look", &json!({}));
    let answer = r#"{"jsonrpc":"2.0","id":7,"result":{"isError":true,"isError":false}}"#;
    let said = with_server(&terminal, &format!("{call}\n"), &format!("echo '{answer}'"));
    let lines = lines(&said);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(
        (&lines[0]["id"], &lines[0]["error"]["code"]),
        (&json!(7), &json!(-32603))
    );
    let events = calls(&running.customer, 1).await;
    assert_eq!(events[0]["error_code"], "protocol_error");
}

#[tokio::test]
async fn the_guard_ends_as_its_server_did() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    let call = call("look", &json!({}));
    for (script, code) in [
        ("exit 7", 7),
        ("kill -9 $$", 128 + 9),
        // It has to be ended, because what it says has no end.
        ("tr '\\0' x < /dev/zero", 1),
    ] {
        let said = with_server(&terminal, &format!("{call}\n"), script);
        assert_eq!(said.code, Some(code), "{script}: {}", said.stderr);
        let is_sound = !said.stderr.contains("before all calls were recorded");
        assert!(is_sound, "{}", said.stderr);
    }
}

#[tokio::test]
async fn a_server_that_outlives_its_client_is_ended_and_that_is_no_failure() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    let begun = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    // What it says later is read by nobody, which would end it.
    let said = with_server(&terminal, begun, "sleep 3; echo late; exit 9");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[tokio::test]
async fn neither_size_nor_a_pending_approval_gets_a_call_past_a_guard_that_fails_open() {
    let mut running = Running::start(Deployment::new());
    let customer = running.customer.clone();
    customer
        .put_in_force(
            r#"
            @id("tools") permit (principal, action in Action::"mcp", resource);
            @id("failures") @verdict("escalate") forbid (principal, action == Action::"mcp.sums.fail", resource);
        "#,
        )
        .await;
    let server = mcp::adding_server().expect("a server");
    let command = guarded("adder", "sums", &["--fail-open"], &server);
    let mut client =
        McpClient::of_command(Era::Sessions, &command, variables(&customer)).expect("a client");
    let large = client.call("add", &json!({"a": 1, "b": 2, "c": "x".repeat(70_000)}));
    let (text, is_error) = read(&large);
    assert!(is_error && text.contains("more than 64 KiB"), "{text}");

    let asked = client.begin("tools/call", &json!({"name": "fail", "arguments": {}}));
    is_pending(&customer).await;
    running.server.kill();
    let denied = client.answer(asked);
    let (text, is_error) = read(&denied);
    assert!(is_error && text.contains("could not decide"), "{text}");
    let passed = client.call("add", &json!({"a": 1, "b": 2}));
    assert_eq!(read(&passed), ("3", false), "it was not asked about before");
    client.close();
}

#[tokio::test]
async fn nothing_is_called_while_what_should_be_pinned_cannot_be() {
    let running = Running::start(Deployment::new());
    let server = mcp::adding_server().expect("a server");
    let terminal = Terminal::of(&running.customer);
    let file = terminal.path("missing/tools.json");
    let pin = ["--pin", file.to_str().expect("UTF-8")];
    let command = guarded("adder", "sums", &pin, &server);
    let variables = variables(&running.customer);
    let mut client = McpClient::of_command(Era::Sessions, &command, variables).expect("a client");
    assert_eq!(client.tools().as_array().map(Vec::len), Some(2));
    let sum = json!({"a": 1, "b": 2});
    let denied = client.call("add", &sum);
    assert!(read(&denied).0.contains("they are not yet"), "{denied}");
    fs::create_dir(terminal.path("missing")).expect("created");
    assert_eq!(client.tools().as_array().map(Vec::len), Some(2));
    assert_eq!(read(&client.call("add", &sum)), ("3", false));
    client.close();
}

/// A server over HTTP that answers whatever it is told to, and keeps what it was asked.
struct Upstream {
    url: String,
    state: Shared,
    _serving: JoinSet<()>,
}

type Shared = Arc<Mutex<Script>>;

struct Script {
    answer: Answer,
    requests: Vec<Request<()>>,
}

/// A status, headers and a body.
type Answer = (u16, &'static [(&'static str, &'static str)], &'static str);

impl Upstream {
    async fn start() -> Self {
        let state: Shared = Arc::new(Mutex::new(Script {
            answer: (200, &[], ""),
            requests: Vec::new(),
        }));
        let answer = async |State(state): State<Shared>, request: Request| {
            let (parts, _) = request.into_parts();
            let mut script = state.lock().expect("sound");
            script.requests.push(Request::from_parts(parts, ()));
            let (status, headers, body) = script.answer;
            let mut answer = Response::builder().status(status);
            for (name, value) in headers {
                answer = answer.header(*name, *value);
            }
            answer.body(Body::from(body)).expect("an answer")
        };
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&state));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self {
            url,
            state,
            _serving: serving,
        }
    }

    fn answers(&self, answer: Answer) {
        self.state.lock().expect("sound").answer = answer;
    }

    fn requests(&self) -> Vec<Request<()>> {
        std::mem::take(&mut self.state.lock().expect("sound").requests)
    }
}

#[tokio::test]
async fn over_http_only_answers_that_were_looked_at_pass() {
    let running = Running::start(Deployment::new());
    let upstream = Upstream::start().await;
    let guard = Guard::start(&running.customer, &upstream.url, &[]);
    let call = call("look", &json!({}));
    let json: &[_] = &[("content-type", JSON)];
    let cases: [(Answer, u16, &str); 12] = [
        ((200, json, RESULT), 200, r#""result""#),
        (
            (
                200,
                &[("content-type", "application/json; charset=utf-7")],
                RESULT,
            ),
            200,
            r#""result""#,
        ),
        (
            (200, &[("content-type", "text/html")], RESULT),
            502,
            "-32603",
        ),
        ((200, &[], RESULT), 502, "-32603"),
        (
            (
                200,
                &[("content-type", JSON), ("content-encoding", "gzip")],
                RESULT,
            ),
            502,
            "compressed",
        ),
        (
            (307, &[("location", "http://127.0.0.1:1/")], ""),
            502,
            "leads elsewhere (307)",
        ),
        (
            (200, json, r#"{"jsonrpc":"2.0","id":8,"result":{}}"#),
            502,
            "nobody made",
        ),
        (
            (
                200,
                json,
                r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#,
            ),
            502,
            "-32603",
        ),
        ((200, json, "{"), 502, "-32603"),
        // Why it is refused, and nothing that could be taken for a result.
        (
            (401, &[("www-authenticate", "Bearer")], "who are you?"),
            401,
            "the MCP server answered 401: who are you?",
        ),
        (
            (
                404,
                json,
                r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-1,"message":"gone"}}"#,
            ),
            404,
            "-32603",
        ),
        (
            (
                400,
                json,
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"no"}}"#,
            ),
            400,
            "-32020",
        ),
    ];
    let count = cases.len();
    for (answer, status, part) in cases {
        upstream.answers(answer);
        let got = guard.post(&call, &[]).await;
        assert_eq!(got.status().as_u16(), status, "{answer:?}");
        assert_eq!(got.headers()[CONTENT_TYPE], JSON, "{answer:?}");
        assert!(got.headers().get("location").is_none());
        let is_refused = status == 401;
        assert_eq!(got.headers().contains_key("www-authenticate"), is_refused);
        let body = got.text().await.expect("a body");
        assert!(body.contains(part), "{answer:?}: {body}");
        let message: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(message["id"], 7, "{answer:?}");
    }
    for request in upstream.requests() {
        assert_eq!(request.headers()[CONTENT_TYPE], JSON);
        assert_eq!(request.headers()[ACCEPT_ENCODING], "identity");
    }
    let events = calls(&running.customer, count).await;
    let results = events.iter().filter(|event| event["result"] == "success");
    assert_eq!(results.count(), 2);
}

#[tokio::test]
async fn a_message_that_the_server_might_read_differently_does_not_reach_it() {
    let running = Running::start(Deployment::new());
    let upstream = Upstream::start().await;
    let guard = Guard::start(&running.customer, &upstream.url, &[]);
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    for (kind, encoding) in [
        ("application/json; charset=utf-7", "identity"),
        ("application/json", "gzip"),
        ("text/plain", "identity"),
    ] {
        let request = http().post(&guard.url).header("content-type", kind);
        let request = request.header("content-encoding", encoding).body(ping);
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), 415, "{kind} {encoding}");
    }
    let call = call("look", &json!({}));
    let answer = guard.post(&call, &[("mcp-name", "other")]).await;
    assert_eq!(answer.status().as_u16(), 400);
    assert!(upstream.requests().is_empty());
    let events = calls(&running.customer, 1).await;
    assert_eq!(events[0]["error_code"], "undecided");
}

#[tokio::test]
async fn an_answer_on_a_stream_that_is_resumed_ends_its_call() {
    let running = Running::start(Deployment::new());
    let upstream = Upstream::start().await;
    let guard = Guard::start(&running.customer, &upstream.url, &[]);
    let stream: &[_] = &[("content-type", STREAM)];
    let session = [("mcp-session-id", "s1")];
    upstream.answers((200, stream, ": hello\nid: 1\nretry: 9\nfoo: x\ndata:\n\n"));
    let answer = guard.post(&call("look", &json!({})), &session).await;
    let begun = answer.text().await.expect("a stream");
    assert_eq!(begun, ":\nid: 1\nretry: 9\ndata: \n\n");

    let rest = "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n\nid: 3\rdata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"result\":{\"content\":[]}}\n\n";
    upstream.answers((200, stream, rest));
    let resume = http()
        .get(&guard.url)
        .header("mcp-session-id", "s1")
        .header("last-event-id", "1");
    let resumed = resume.send().await.expect("an answer");
    assert_eq!(
        resumed.text().await.expect("a stream"),
        "id: 3\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"result\":{\"content\":[]}}\n\n"
    );
    let events = calls(&running.customer, 1).await;
    assert_eq!(events[0]["result"], "success");
    assert_eq!(events[0]["session_id"], "s1");
}

#[tokio::test]
async fn a_session_that_is_ended_leaves_no_call_open() {
    let running = Running::start(Deployment::new());
    let upstream = Upstream::start().await;
    let guard = Guard::start(&running.customer, &upstream.url, &[]);
    let session = [("mcp-session-id", "s1")];
    upstream.answers((200, &[("content-type", STREAM)], "id: 1\ndata:\n\n"));
    let answer = guard.post(&call("look", &json!({})), &session).await;
    assert_eq!(answer.status().as_u16(), 200);
    answer.text().await.expect("a stream");
    upstream.answers((405, &[], ""));
    let end = || {
        let request = http().delete(&guard.url).header("mcp-session-id", "s1");
        request.send()
    };
    assert_eq!(end().await.expect("an answer").status().as_u16(), 405);
    upstream.answers((204, &[], ""));
    assert_eq!(end().await.expect("an answer").status().as_u16(), 204);
    let events = calls(&running.customer, 1).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["error_code"], "no_response");
}
