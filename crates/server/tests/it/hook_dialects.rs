//! The hooks of agents whose hooks are commands, as they hand them over. What Codex, Gemini CLI and Copilot say here was recorded from
//! them; what Cursor and Docker's MCP gateway say is as others have recorded it.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::deployment::{Customer, Deployment, Running, ok};
use crate::errors::problem;

const POLICIES: &str = r#"
    @id("tools") permit (principal, action, resource)
    unless { context has payload && context.payload has command && context.payload.command like "wanted*" };
    @id("no-removing")
    @reason("Nothing is removed.")
    forbid (principal, action, resource)
    when { context has payload && context.payload has command && context.payload.command like "rm*" };
    @id("rather")
    @obligation("[{\"op\":\"replace\",\"path\":\"/command\",\"value\":\"changed\"}]")
    permit (principal, action, resource)
    when { context has payload && context.payload has command && context.payload.command like "wanted*" };
    @id("people") @verdict("escalate") @reason("Ask Ann.")
    forbid (principal, action, resource)
    when { context has payload && context.payload has command && context.payload.command like "publish*" };
"#;

const DIALECTS: [&str; 5] = ["codex", "gemini", "copilot", "cursor", "docker-mcp"];

/// What an agent hands over before it runs this command.
fn asked(dialect: &str, command: &str) -> Value {
    let input = json!({"command": command, "description": "x"});
    match dialect {
        "codex" => json!({
            "session_id": "s-1", "turn_id": "t-1", "transcript_path": "/t", "cwd": "/srv", "hook_event_name": "PreToolUse",
            "model": "gpt-5", "permission_mode": "bypassPermissions", "tool_name": "Bash", "tool_input": input,
            "tool_use_id": "call_1"}),
        "gemini" => json!({
            "session_id": "s-1", "transcript_path": "/t", "cwd": "/srv", "hook_event_name": "BeforeTool",
            "timestamp": "2026-11-19T10:17:10.095Z", "tool_name": "run_shell_command", "tool_input": input}),
        "copilot" => json!({
            "sessionId": "s-1", "timestamp": 1_795_083_432_217_u64, "cwd": "/srv", "toolName": "bash", "toolArgs": input}),
        "cursor" => json!({
            "conversation_id": "s-1", "generation_id": "g-1", "model": "default", "hook_event_name": "preToolUse",
            "cursor_version": "3.9.16", "workspace_roots": ["/srv"], "cwd": "/srv", "tool_name": "Shell",
            "tool_input": input, "tool_use_id": "d024a132-85b4-4c79-80f0-6b2e2fffc1fe"}),
        _ => json!({"method": "tools/call", "params": {"name": "shell", "arguments": input}}),
    }
}

/// And after it ran.
fn told(dialect: &str, command: &str) -> Value {
    let mut told = asked(dialect, command);
    let more = match dialect {
        "codex" => json!({"hook_event_name": "PostToolUse", "tool_response": "hunter2"}),
        "gemini" => json!({
            "hook_event_name": "AfterTool", "tool_response": {"llmContent": "hunter2", "returnDisplay": ""}}),
        "copilot" => {
            json!({"toolResult": {"resultType": "success", "textResultForLlm": "hunter2"}})
        }
        "cursor" => {
            json!({"hook_event_name": "postToolUse", "tool_output": "\"hunter2\"", "duration": 12.5})
        }
        _ => return json!({"content": [{"type": "text", "text": "hunter2"}]}),
    };
    let fields = told.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    told
}

/// What is answered when a call is denied for this reason.
fn denial(dialect: &str, answer: &Value) -> String {
    let (said, reason) = match dialect {
        "codex" => {
            let output = &answer["hookSpecificOutput"];
            (
                &output["permissionDecision"],
                &output["permissionDecisionReason"],
            )
        }
        "gemini" => (&answer["decision"], &answer["reason"]),
        "copilot" => (
            &answer["permissionDecision"],
            &answer["permissionDecisionReason"],
        ),
        "cursor" => (&answer["permission"], &answer["user_message"]),
        _ => {
            assert_eq!(answer["isError"], true, "{answer}");
            return answer["content"][0]["text"]
                .as_str()
                .expect("a reason")
                .to_owned();
        }
    };
    assert_eq!(said, "deny", "{dialect}: {answer}");
    reason.as_str().expect("a reason").to_owned()
}

impl Customer {
    async fn hook(&self, dialect: &str, moment: &str, body: &Value) -> Value {
        let answer = self
            .post(&format!("/v1/hooks/{dialect}/{moment}"), body)
            .await;
        if answer.status() == StatusCode::NO_CONTENT {
            return Value::Null;
        }
        ok(answer).await
    }
}

#[tokio::test]
async fn every_agent_is_answered_in_its_own_words() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(POLICIES).await;
    for dialect in DIALECTS {
        let answer = async |command: &str| {
            customer
                .hook(dialect, "before", &asked(dialect, command))
                .await
        };
        let pass = match dialect {
            "cursor" => json!({"permission": "allow"}),
            "docker-mcp" => json!(null),
            _ => json!({}),
        };
        assert_eq!(answer("ls").await, pass, "{dialect}");
        let denied = denial(dialect, &answer("rm a").await);
        assert!(
            denied.contains("Nothing is removed. (policy no-removing, dec_"),
            "{denied}"
        );
        let escalated = denial(dialect, &answer("publish").await);
        assert!(escalated.contains("Ask Ann."), "{escalated}");
        let changed = answer("wanted").await;
        let input = json!({"command": "changed", "description": "x"});
        match dialect {
            "codex" => {
                let output = &changed["hookSpecificOutput"];
                assert_eq!(
                    (&output["permissionDecision"], &output["updatedInput"]),
                    (&json!("allow"), &input)
                );
            }
            "gemini" => assert_eq!(changed["hookSpecificOutput"]["tool_input"], input),
            "copilot" => assert_eq!(changed, json!({"modifiedArgs": input})),
            "cursor" => assert_eq!(
                changed,
                json!({"permission": "allow", "updated_input": input})
            ),
            _ => {
                let why = denial(dialect, &changed);
                assert!(why.contains("which Docker's gateway cannot"), "{why}");
            }
        }
    }
}

#[tokio::test]
async fn what_every_agent_tells_is_in_the_trail_without_what_the_tool_said() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(POLICIES).await;
    for dialect in DIALECTS {
        customer
            .hook(dialect, "before", &asked(dialect, "ls"))
            .await;
        customer.hook(dialect, "after", &told(dialect, "ls")).await;
    }
    let mut events = customer.all_events().await;
    events.retain(|event| event["event_type"] != "policy_change");
    events.reverse();
    assert!(!json!(events).to_string().contains("hunter2"));
    let actions = [
        "tool.bash",
        "tool.run_shell_command",
        "tool.bash",
        "tool.shell",
        "mcp.shell",
    ];
    for ((pair, dialect), action) in events.chunks(2).zip(DIALECTS).zip(actions) {
        let [decision, call] = pair else {
            panic!("{pair:?}")
        };
        assert_eq!(decision["event_type"], "decision");
        assert_eq!(call["event_type"], "tool_call");
        assert_eq!(
            (&call["agent_id"], &call["result"]),
            (&json!(dialect), &json!("success"))
        );
        assert_eq!(decision["action"], action, "{dialect}");
        if dialect == "docker-mcp" {
            // It does not say of which tool.
            assert_eq!(call["action"], "mcp.docker-mcp");
            continue;
        }
        assert_eq!(call["action"], action);
        assert_eq!(call["session_id"], "s-1", "{dialect}");
        assert_eq!(
            call["metadata"]["request_digest"], decision["metadata"]["request_digest"],
            "{dialect}"
        );
        assert!(
            call["metadata"]["tool_response"]["digest"].is_string(),
            "{call}"
        );
    }
}

#[tokio::test]
async fn what_failed_and_what_was_denied_is_told_apart() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let with = |dialect: &str, fields: Value| {
        let mut told = told(dialect, "ls");
        let all = told.as_object_mut().expect("an object");
        all.extend(fields.as_object().expect("an object").clone());
        (dialect.to_owned(), told)
    };
    let cases = [
        (
            with(
                "gemini",
                json!({"tool_response": {"llmContent": "", "error": {"message": "no"}}}),
            ),
            "error",
        ),
        (
            with("copilot", json!({"toolResult": {"resultType": "failure"}})),
            "error",
        ),
        (
            with("copilot", json!({"toolResult": {"resultType": "denied"}})),
            "denied",
        ),
        (
            with(
                "cursor",
                json!({"hook_event_name": "postToolUseFailure", "error_message": "no"}),
            ),
            "error",
        ),
        (
            with(
                "cursor",
                json!({"hook_event_name": "postToolUseFailure", "failure_type": "permission_denied"}),
            ),
            "denied",
        ),
        (with("docker-mcp", json!({"isError": true})), "error"),
    ];
    for ((dialect, told), expected) in cases {
        customer.hook(&dialect, "after", &told).await;
        let events = customer.all_events().await;
        assert_eq!(events[0]["result"], expected, "{told}");
    }
}

#[tokio::test]
async fn tools_of_mcp_servers_have_the_same_name_for_every_agent() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(POLICIES).await;
    let named = |dialect: &str, fields: Value| {
        let mut asked = asked(dialect, "ls");
        let all = asked.as_object_mut().expect("an object");
        all.extend(fields.as_object().expect("an object").clone());
        (dialect.to_owned(), asked)
    };
    let text = r#"{"command": "ls"}"#;
    let cases = [
        named("codex", json!({"tool_name": "mcp__github__create_issue"})),
        named(
            "gemini",
            json!({
            "tool_name": "mcp_github_create_issue",
            "mcp_context": {"server_name": "github", "tool_name": "create_issue", "command": "node"}}),
        ),
        named("cursor", json!({"tool_name": "MCP:github:create_issue"})),
        named(
            "cursor",
            json!({
            "hook_event_name": "beforeMCPExecution", "tool_name": "github:create_issue", "tool_input": text}),
        ),
    ];
    for (dialect, asked) in cases {
        customer.hook(&dialect, "before", &asked).await;
        let events = customer.all_events().await;
        assert_eq!(events[0]["action"], "mcp.github.create_issue", "{asked}");
    }
}

#[tokio::test]
async fn what_is_not_understood_is_refused_so_that_the_call_is_blocked() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let refused = async |path: &str, body: &Value, status: u16| {
        problem(customer.post(path, body).await, status).await
    };
    for dialect in DIALECTS {
        let path = format!("/v1/hooks/{dialect}/before");
        refused(&path, &json!({}), 422).await;
        // The question at the address for what was done, and the other way around.
        if dialect != "docker-mcp" {
            refused(&path, &told(dialect, "ls"), 422).await;
            let after = format!("/v1/hooks/{dialect}/after");
            refused(&after, &asked(dialect, "ls"), 422).await;
        }
    }
    let twice = r#"{"command": "ls", "command": "rm -rf /"}"#;
    for text in [twice, "ls", "[]"] {
        let asked = json!({"sessionId": "s", "cwd": "/", "toolName": "bash", "toolArgs": text});
        refused("/v1/hooks/copilot/before", &asked, 422).await;
    }
    let unknown = refused("/v1/hooks/emacs/before", &asked("codex", "ls"), 404).await;
    assert!(
        unknown["detail"]
            .as_str()
            .is_some_and(|text| text.contains("claude-code")),
        "{unknown}"
    );
    for query in ["on_error=pass", "wait=21", "agent_id="] {
        let path = format!("/v1/hooks/codex/before?{query}");
        refused(&path, &asked("codex", "ls"), 400).await;
    }
    assert!(customer.all_events().await.is_empty());
}

#[tokio::test]
async fn nothing_can_be_taken_out_of_a_call_by_gemini_so_such_a_change_denies_it() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let policies = r#"@id("short") @obligation("[{\"op\":\"remove\",\"path\":\"/description\"}]")
                      permit (principal, action, resource);"#;
    customer.put_in_force(policies).await;
    let answer = customer
        .hook("gemini", "before", &asked("gemini", "ls"))
        .await;
    let why = denial("gemini", &answer);
    assert!(why.contains("takes something out"), "{why}");
    let answer = customer
        .hook("copilot", "before", &asked("copilot", "ls"))
        .await;
    assert_eq!(answer, json!({"modifiedArgs": {"command": "ls"}}));
}
