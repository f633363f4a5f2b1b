//! `watchbell mcp wrap`: real MCP clients and servers, with the guard between them.

use std::fs;

use serde_json::{Value, json};
use testkit::folder::TestFolder;
use testkit::{Era, McpClient, eventually, mcp};

use crate::cli::Terminal;
use crate::deployment::{BINARY, Customer, DEADLINE, Deployment, Running};

/// What the agent may do with its servers.
const POLICIES: &str = r#"
    @id("tools") permit (principal == Agent::"editor", action in Action::"mcp", resource);
    @id("read-only")
    @reason("Agents do not write here.")
    forbid (principal, action == Action::"mcp.files.write_file", resource);
    @id("secrets")
    @reason("This file is not for agents.")
    forbid (principal, action in Action::"mcp.files", resource)
    when { context has payload && context.payload has path && context.payload.path like "*.key" };
    @id("moves")
    @verdict("escalate")
    @reason("A person looks at what is moved.")
    forbid (principal, action == Action::"mcp.files.move_file", resource);
    @id("polite")
    @obligation("[{\"op\":\"replace\",\"path\":\"/message\",\"value\":\"please\"}]")
    permit (principal == Agent::"echoer", action == Action::"mcp.all.echo", resource);
"#;

/// The arguments of the guard, and of the server behind it.
pub(crate) fn guarded<'a>(
    agent: &'a str,
    server: &'a str,
    more: &[&'a str],
    command: &'a [String],
) -> Vec<&'a str> {
    let mut arguments = vec![BINARY, "mcp", "wrap", "--agent", agent, "--server", server];
    arguments.extend(more);
    arguments.push("--");
    arguments.extend(command.iter().map(String::as_str));
    arguments
}

pub(crate) fn variables(customer: &Customer) -> [(&str, &str); 2] {
    [
        ("WATCHBELL_URL", &customer.base_url),
        ("WATCHBELL_API_KEY", &customer.api_key),
    ]
}

/// A folder with a file in it.
fn folder() -> TestFolder {
    let folder = TestFolder::create().expect("a folder");
    fs::write(folder.path().join("a.txt"), "hello").expect("written");
    folder
}

fn path(folder: &TestFolder, name: &str) -> String {
    let path = folder.path().join(name);
    path.to_str().expect("UTF-8").to_owned()
}

/// What the model reads of a call, and whether it failed.
pub(crate) fn read(result: &Value) -> (&str, bool) {
    let text = result["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("no text: {result}"));
    (text, result["isError"] == true)
}

/// The events of calls once there are so many, oldest first.
pub(crate) async fn calls(customer: &Customer, count: usize) -> Vec<Value> {
    eventually(DEADLINE, "the calls are recorded", async || {
        let list = "/v1/audit/events?event_type=tool_call&order=asc";
        let listed = customer.get_json(list).await;
        let events = listed["data"].as_array().expect("data").clone();
        (events.len() >= count).then_some(events)
    })
    .await
}

pub(crate) async fn decision(customer: &Customer, id: &Value) -> Value {
    let id = id.as_str().expect("a decision");
    let list = format!("/v1/audit/events?event_type=decision&decision_id={id}");
    let listed = customer.get_json(&list).await;
    listed["data"][0].clone()
}

#[tokio::test]
async fn a_call_is_decided_and_recorded_and_the_model_reads_why_it_was_denied() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(POLICIES).await;
    let folder = folder();
    let server = mcp::files_server(folder.path()).expect("a server");
    let command = guarded("editor", "files", &[], &server);
    let mut client =
        McpClient::of_command(Era::Sessions, &command, variables(customer)).expect("a client");

    let allowed = client.call("read_text_file", &json!({"path": path(&folder, "a.txt")}));
    assert_eq!(read(&allowed), ("hello", false));
    let denied = client.call(
        "write_file",
        &json!({"path": path(&folder, "b.txt"), "content": "x"}),
    );
    let (text, is_error) = read(&denied);
    assert!(is_error, "{denied}");
    assert!(
        text.contains("Agents do not write here. (policy read-only, dec_"),
        "{text}"
    );
    assert!(!folder.path().join("b.txt").exists());
    let secret = client.call("read_text_file", &json!({"path": path(&folder, "a.key")}));
    assert!(read(&secret).0.contains("not for agents"), "{secret}");
    let missing = client.call(
        "read_text_file",
        &json!({"path": path(&folder, "none.txt")}),
    );
    assert!(read(&missing).1, "{missing}");
    client.close();

    let events = calls(customer, 4).await;
    let said: Vec<_> = events
        .iter()
        .map(|event| (&event["action"], &event["result"]))
        .collect();
    let (write, text) = ("mcp.files.write_file", "mcp.files.read_text_file");
    assert_eq!(
        said,
        [
            (&json!(text), &json!("success")),
            (&json!(write), &json!("denied")),
            (&json!(text), &json!("denied")),
            (&json!(text), &json!("error")),
        ]
    );
    assert_eq!(events[3]["error_code"], "tool_error");
    let call = &events[0];
    assert_eq!(call["agent_id"], "editor");
    assert_eq!(call["resource"], "tool:read_text_file");
    assert_eq!(call["metadata"]["assurance"], "decided");
    assert!(call["latency_ms"].is_f64(), "{call}");
    assert!(
        call["metadata"]["tool_response"]["digest"].is_string(),
        "{call}"
    );
    // What was read, and of which file, is nobody's business.
    assert!(!call.to_string().contains("a.txt"), "{call}");
    let decided = decision(customer, &call["decision_id"]).await;
    assert_eq!(
        decided["metadata"]["request_digest"],
        call["metadata"]["request_digest"]
    );
    assert_eq!(decided["session_id"], call["session_id"]);
    let context = &decided["metadata"]["question"]["context"];
    assert_eq!(context["mcp_server"], "files");
    assert_eq!(context["mcp_client"], "testkit");
    assert_eq!(context["tool_input"]["path"], path(&folder, "a.txt"));
}

#[tokio::test]
async fn a_call_is_made_with_what_a_policy_changes_it_to() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(POLICIES).await;
    let server = mcp::everything_server().expect("a server");
    let command = guarded("echoer", "all", &[], &server);
    let mut client =
        McpClient::of_command(Era::Sessions, &command, variables(customer)).expect("a client");
    let echoed = client.call("echo", &json!({"message": "now"}));
    assert_eq!(read(&echoed), ("Echo: please", false));
    client.close();
    let events = calls(customer, 1).await;
    let decided = decision(customer, &events[0]["decision_id"]).await;
    assert_eq!(decided["result"], "modified");
}

#[tokio::test]
async fn a_call_waits_for_a_person_and_is_made_once_somebody_approved_it() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(POLICIES).await;
    let folder = folder();
    let server = mcp::files_server(folder.path()).expect("a server");
    let command = guarded("editor", "files", &[], &server);
    let mut client =
        McpClient::of_command(Era::Sessions, &command, variables(customer)).expect("a client");
    let arguments =
        json!({"source": path(&folder, "a.txt"), "destination": path(&folder, "b.txt")});
    let moving = client.begin(
        "tools/call",
        &json!({"name": "move_file", "arguments": arguments}),
    );
    resolve(customer, true).await;
    let moved = client.answer(moving);
    assert!(!read(&moved).1, "{moved}");
    assert!(folder.path().join("b.txt").exists());

    let back = json!({"source": path(&folder, "b.txt"), "destination": path(&folder, "a.txt")});
    let moving = client.begin(
        "tools/call",
        &json!({"name": "move_file", "arguments": back}),
    );
    resolve(customer, false).await;
    let denied = client.answer(moving);
    assert!(read(&denied).1, "{denied}");
    assert!(folder.path().join("b.txt").exists());
    client.close();
    let events = calls(customer, 2).await;
    let results: Vec<_> = events.iter().map(|event| &event["result"]).collect();
    assert_eq!(results, ["success", "denied"]);
    // The decision that was made with the approval.
    let decided = decision(customer, &events[0]["decision_id"]).await;
    assert_eq!(decided["result"], "allowed");
}

#[tokio::test]
async fn a_call_that_was_approved_too_late_passes_when_it_is_made_again() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(POLICIES).await;
    let folder = folder();
    let server = mcp::files_server(folder.path()).expect("a server");
    let command = guarded("editor", "files", &["--wait", "0"], &server);
    let mut client =
        McpClient::of_command(Era::Sessions, &command, variables(customer)).expect("a client");
    let arguments =
        json!({"source": path(&folder, "a.txt"), "destination": path(&folder, "b.txt")});
    for _ in 0..2 {
        let waits = client.call("move_file", &arguments);
        let (text, is_error) = read(&waits);
        assert!(is_error && text.contains("nobody has yet"), "{text}");
    }
    assert_eq!(
        customer.pending().await.len(),
        1,
        "two calls, and one question for people"
    );
    resolve(customer, true).await;
    let moved = client.call("move_file", &arguments);
    assert!(!read(&moved).1, "{moved}");
    client.close();
}

/// Somebody answers what is pending.
async fn resolve(customer: &Customer, approve: bool) {
    let id = eventually(DEADLINE, "a person is asked", async || {
        let pending = customer.pending().await;
        Some(pending.first()?["decision_id"].as_str()?.to_owned())
    })
    .await;
    customer.resolve(&id, &json!({"approve": approve})).await;
}

#[tokio::test]
async fn while_the_server_is_away_calls_are_denied_or_pass_and_are_recorded_later() {
    let mut running = Running::start(Deployment::new());
    let customer = running.customer.clone();
    let server = mcp::adding_server().expect("a server");
    let sum = json!({"a": 1, "b": 2});
    let mut clients = [&[][..], &["--fail-open"]].map(|more| {
        let command = guarded("adder", "sums", more, &server);
        McpClient::of_command(Era::Sessions, &command, variables(&customer)).expect("a client")
    });
    let port = customer
        .base_url
        .rsplit(':')
        .next()
        .expect("a port")
        .to_owned();
    running.server.kill();

    let [closed, open] = &mut clients;
    let denied = closed.call("add", &sum);
    let (text, is_error) = read(&denied);
    assert!(is_error && text.contains("could not decide"), "{text}");
    assert_eq!(read(&open.call("add", &sum)), ("3", false));

    let deployment = running
        .deployment
        .with("HTTP__LISTEN", &format!("127.0.0.1:{port}"));
    let mut server = deployment.serve_all();
    let customer = customer.at(&mut server);
    let events = calls(&customer, 2).await;
    let said: Vec<_> = events
        .iter()
        .map(|event| (&event["result"], &event["metadata"]["assurance"]))
        .collect();
    let observed = json!("observed");
    assert!(said.contains(&(&json!("denied"), &observed)), "{said:?}");
    assert!(said.contains(&(&json!("success"), &observed)), "{said:?}");
    for client in clients {
        client.close();
    }
}

#[tokio::test]
async fn both_eras_pass_unchanged() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let server = mcp::adding_server().expect("a server");
    let bare: Vec<&str> = server.iter().map(String::as_str).collect();
    let guarded = guarded("adder", "sums", &[], &server);
    for era in Era::ALL {
        let mut answers = [&bare, &guarded].map(|command| {
            let mut client =
                McpClient::of_command(era, command, variables(customer)).expect("a client");
            let answers = json!([
                client.tools(),
                client.call("add", &json!({"a": 40, "b": 2})),
                client.call("fail", &json!({})),
                client.call("add", &json!({"a": "no number"})),
                client.call("no_such_tool", &json!({})),
            ]);
            client.close();
            answers
        });
        let [bare, guarded] = &mut answers;
        assert_eq!(bare, guarded, "{era:?}");
        assert_eq!(read(&guarded[1]), ("42", false));
    }
    let events = calls(customer, 8).await;
    assert_eq!(events.len(), 8, "{events:?}");
}

/// What a server is sent, told by one that sends it all back.
fn sent_to_the_server(terminal: &Terminal, input: &str) -> (Vec<Value>, String) {
    let arguments = ["mcp", "wrap", "--agent", "a", "--server", "s", "--", "cat"];
    let said = terminal.run_with(input, &arguments);
    assert!(!said.stdout.contains('\r'), "{}", said.stdout);
    let lines = said.stdout.lines();
    let lines = lines.map(|line| serde_json::from_str(line).expect("JSON"));
    (lines.collect(), said.stderr)
}

#[tokio::test]
async fn what_the_guard_does_not_know_or_could_misread_never_reaches_the_server() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    let passing = [
        json!({"jsonrpc": "2.0", "method": "notifications/of_tomorrow"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": "two", "method": "server/discover", "params": {"_meta": {}}}),
    ];
    let refused = [
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/execute","params":{"name":"rm"}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"ping","method":"tools/call","params":{"name":"rm"}}"#,
        r#"[{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"rm"}}]"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"rm"}}"#,
        // To whoever does not look at case, each of these is a call.
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","Method":"tools/call","params":{"name":"rm"}}"#,
        r#"{"jsonrpc":"2.0","id":8,"result":{},"METHOD":"tools/call","params":{"name":"rm"}}"#,
        "rm",
    ];
    // To whoever takes a carriage return for the end of a line, the second line is a call.
    let two = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":\r\
         {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"rm\"}}\r}";
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":6,"method":"ping","params":{{"a":{}1{}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let input: Vec<String> = passing
        .iter()
        .map(Value::to_string)
        .chain(refused.map(str::to_owned))
        .chain([deep, two.to_owned()])
        .collect();
    let (lines, notes) = sent_to_the_server(&terminal, &input.join("\n"));
    let (sent, answers): (Vec<_>, Vec<_>) = lines
        .into_iter()
        .partition(|line| line.get("method").is_some());
    // The server is sent no carriage return, and so one message.
    let two = serde_json::from_str(two).expect("JSON");
    assert_eq!(sent, passing.into_iter().chain([two]).collect::<Vec<_>>());
    let codes: Vec<Value> = answers
        .iter()
        .map(|answer| answer.get(0).unwrap_or(answer)["error"]["code"].clone())
        .collect();
    assert_eq!(
        codes,
        [-32001, -32700, -32600, -32700, -32600, -32700, -32700],
        "{notes}"
    );
    assert!(notes.contains("it is a request without an id"), "{notes}");
}

#[tokio::test]
async fn a_call_belongs_to_the_trace_that_its_client_says() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let terminal = Terminal::of(customer);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look", "_meta":
        {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}});
    // The server sends the call back and nothing else, and then it is ended.
    let mut command = terminal.command(&[
        "mcp", "wrap", "--agent", "a", "--server", "s", "--", "head", "-n1",
    ]);
    let folder = TestFolder::create().expect("a folder");
    let input = folder.path().join("input");
    fs::write(&input, format!("{call}\n")).expect("written");
    command.stdin(fs::File::open(&input).expect("a file"));
    let output = command.output().expect("it ends");
    let sent: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(sent, call);
    let events = calls(customer, 1).await;
    let event = &events[0];
    assert_eq!(event["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(event["span_id"], "b7ad6b7169203331");
    assert_eq!(event["error_code"], "no_response");
    let decided = decision(customer, &event["decision_id"]).await;
    assert_eq!(decided["trace_id"], event["trace_id"]);
}

#[tokio::test]
async fn a_call_that_the_client_gives_up_while_a_person_is_asked_is_not_made() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(POLICIES).await;
    let terminal = Terminal::of(customer);
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "move_file"}});
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let arguments = [
        "mcp", "wrap", "--agent", "editor", "--server", "files", "--", "cat",
    ];
    let said = terminal.run_with(&format!("{call}\n{cancel}\n"), &arguments);
    let lines: Vec<Value> = said
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines, [cancel]);
    let events = calls(customer, 1).await;
    assert_eq!(events[0]["result"], "canceled");
}

#[tokio::test]
async fn the_server_behind_the_guard_has_no_key_and_its_stray_lines_do_not_pass() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    let script = "env > environment; echo starting; echo '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}'; cat >/dev/null; exit 7";
    let arguments = [
        "mcp", "wrap", "--agent", "a", "--server", "s", "--", "sh", "-c", script,
    ];
    let said = terminal.run_with("", &arguments);
    assert_eq!(
        said.stdout,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n"
    );
    assert_eq!(said.code, Some(7));
    let environment = fs::read_to_string(terminal.path("environment")).expect("written");
    assert!(!environment.contains("WATCHBELL_"), "{environment}");
    assert!(
        said.stderr.contains("a line of the MCP server is left out"),
        "{}",
        said.stderr
    );
}
