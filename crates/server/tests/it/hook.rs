//! The hooks of Claude Code: asked before a tool runs, told when it ran.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    commands::{run, stdout},
    deployment::{Customer, DEADLINE, Deployment, Running, http, ok},
    errors::problem,
};

const BEFORE: &str = "/v1/hooks/claude-code/pre-tool-use";
const AFTER: &str = "/v1/hooks/claude-code/post-tool-use";

/// What Claude Code may do here.
const TOOLS: &str = r#"
    @id("tools") permit (principal == Agent::"claude-code", action in Action::"tool", resource);
    @id("no-removing")
    @reason("Nothing is removed recursively.")
    forbid (principal, action == Action::"tool.bash", resource)
    when { context.tool_input.command like "*rm -rf*" };
    @id("secrets")
    @reason("This file is not for agents.")
    forbid (principal, action, resource == file::"/srv/app/.env");
    @id("no-keys")
    forbid (principal, action == Action::"tool.write", resource)
    when { context.tool_input.content like "*BEGIN PRIVATE KEY*" };
    @id("issues")
    @verdict("escalate")
    @reason("Somebody looks at issues before they are public.")
    forbid (principal, action in Action::"mcp.github", resource);
    @id("servers") permit (principal, action in Action::"mcp", resource);
    @id("no-shell")
    @obligation("[{\"op\":\"replace\",\"path\":\"/timeout\",\"value\":10}]")
    permit (principal == Agent::"careful", action == Action::"tool.bash", resource);
"#;

/// As Claude Code posts it before a tool runs.
fn before(tool: &str, input: Value) -> Value {
    let mut hook = json!({
        "session_id": "0f5c1a52-3f0e-4a7b-9d51-6f2f3f7f1f10",
        "transcript_path": "/srv/claude/projects/app/0f5c1a52.jsonl",
        "cwd": "/srv/app", "permission_mode": "default", "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_use_id": "toolu_01A8bJq2Xb4",
    });
    hook["tool_input"] = input;
    hook
}

/// As it posts it after the tool ran.
fn after(tool: &str, input: Value) -> Value {
    let mut hook = before(tool, input);
    hook["hook_event_name"] = json!("PostToolUse");
    hook["tool_response"] = json!({"stdout": "password: hunter2", "interrupted": false});
    hook["duration_ms"] = json!(38);
    hook
}

async fn permission(customer: &Customer, path: &str, hook: &Value) -> (Value, String) {
    let answer = ok(customer.post(path, hook).await).await;
    let output = &answer["hookSpecificOutput"];
    if !output.is_null() {
        assert_eq!(output["hookEventName"], "PreToolUse");
    }
    let reason = output["permissionDecisionReason"]
        .as_str()
        .unwrap_or_default();
    (output["permissionDecision"].clone(), reason.to_owned())
}

#[tokio::test]
async fn a_tool_call_is_decided_by_the_policies_and_told_in_claude_codes_words() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(TOOLS).await;
    let cases = [
        (
            "Bash",
            json!({"command": "ls -l", "description": "List"}),
            json!(null),
            "",
        ),
        (
            "Bash",
            json!({"command": "cd / && rm -rf *"}),
            json!("deny"),
            "Nothing is removed",
        ),
        (
            "Read",
            json!({"file_path": "/srv/app/.env"}),
            json!("deny"),
            "not for agents",
        ),
        (
            "Edit",
            json!({"file_path": "/srv/app/a.rs", "old_string": "a", "new_string": "b", "replace_all": false}),
            json!(null),
            "",
        ),
        (
            "mcp__github__create_issue",
            json!({"title": "A", "labels": null, "weight": 1.0}),
            json!("ask"),
            "Somebody looks",
        ),
        (
            "mcp__memory__read",
            json!({"weight": 0.5, "large": u64::MAX, "none": [null]}),
            json!(null),
            "",
        ),
    ];
    for (tool, input, expected, reason) in cases {
        let hook = before(tool, input);
        let (permission, said) = permission(customer, BEFORE, &hook).await;
        assert_eq!(permission, expected, "{hook}: {said}");
        assert!(said.contains(reason), "{said}");
        assert_eq!(said.contains("dec_"), !expected.is_null(), "{said}");
    }
    let listed = customer
        .get_json("/v1/audit/events?event_type=decision")
        .await;
    let events = listed["data"].as_array().expect("data");
    assert_eq!(events.len(), 6);
    let denied = &events[4];
    assert_eq!(denied["action"], "tool.bash");
    assert_eq!(denied["resource"], "tool:Bash");
    assert_eq!(denied["session_id"], "0f5c1a52-3f0e-4a7b-9d51-6f2f3f7f1f10");
    let context = &denied["metadata"]["question"]["context"];
    assert_eq!(context["tool_input"]["command"], "cd / && rm -rf *");
    assert_eq!(context["cwd"], "/srv/app");
    assert_eq!(context["truncated"], false);
}

#[tokio::test]
async fn the_address_says_who_acts_and_what_an_allowed_call_is_answered_with() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(TOOLS).await;
    let hook = before("Bash", json!({"command": "ls", "timeout": 600}));
    let allowing = format!("{BEFORE}?on_allow=allow");
    assert_eq!(permission(customer, &allowing, &hook).await.0, "allow");
    let stranger = format!("{BEFORE}?agent_id=somebody%20else&on_allow=allow");
    assert_eq!(permission(customer, &stranger, &hook).await.0, "deny");

    let careful = format!("{BEFORE}?agent_id=careful");
    for (path, expected) in [
        (careful.clone(), "ask"),
        (format!("{careful}&on_allow=allow"), "allow"),
    ] {
        let answer = ok(customer.post(&path, &hook).await).await;
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["permissionDecision"], expected, "{answer}");
        assert_eq!(
            output["updatedInput"],
            json!({"command": "ls", "timeout": 10})
        );
    }
    for wrong in [
        "agent=a",
        "wait=21",
        "wait=-1",
        "on_allow=yes",
        "agent_id=",
        "agent_id=a&agent_id=b",
        "on_error=pass",
    ] {
        let path = format!("{BEFORE}?on_error=pass&{wrong}");
        problem(customer.post(&path, &hook).await, 400).await;
        let (refused, reason) =
            permission(customer, &format!("{BEFORE}?{wrong}&on_error=Pass"), &hook).await;
        assert_eq!(refused, "deny", "{wrong}: {reason}");
    }
}

#[tokio::test]
async fn what_is_too_large_to_look_at_is_denied_by_the_policy_that_looks_at_it_and_by_no_other() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(TOOLS).await;
    let long = "x".repeat(100_000);
    let hidden = format!("echo {long}; rm -rf /");
    let bash = before("Bash", json!({"command": hidden}));
    assert_eq!(permission(customer, BEFORE, &bash).await.0, "deny");
    let key = format!("{long}-----BEGIN PRIVATE KEY-----");
    let write = before("Write", json!({"file_path": "/srv/app/a", "content": key}));
    assert_eq!(permission(customer, BEFORE, &write).await.0, "deny");
    let edit = before(
        "Edit",
        json!({"file_path": "/srv/app/a", "new_string": long, "old_string": "a"}),
    );
    assert_eq!(permission(customer, BEFORE, &edit).await.0, json!(null));
    let deep = (0..100).fold(json!(1), |inside, _| json!([inside]));
    let nested = before(
        "Task",
        json!({"prompt": "p", "deep": deep, "__entity": {"type": "Agent", "id": "a"}}),
    );
    assert_eq!(permission(customer, BEFORE, &nested).await.0, json!(null));
    let listed = customer
        .get_json("/v1/audit/events?event_type=decision&order=asc")
        .await;
    for event in listed["data"].as_array().expect("data") {
        assert_eq!(event["metadata"]["question"]["context"]["truncated"], true);
    }
    let errors = &listed["data"][0]["metadata"]["errors"];
    assert_eq!(errors[0]["id"], "no-removing", "{errors}");
}

#[tokio::test]
async fn what_cannot_be_asked_about_or_recorded_for_its_size_is_denied_whatever_the_address_says() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(TOOLS).await;
    let passing = format!("{BEFORE}?on_error=pass");
    // Cut, it would be another file than the one that is forbidden.
    let path = format!("/srv/app/{}.env", "./".repeat(10_000));
    let long = before("Read", json!({"file_path": path}));
    let (denied, reason) = permission(customer, &passing, &long).await;
    assert_eq!(denied, "deny", "{reason}");
    assert!(reason.contains("cannot decide"), "{reason}");
    let tried = customer
        .get_json("/v1/audit/events?event_type=tool_call")
        .await;
    assert_eq!(tried["data"][0]["result"], "denied", "{tried}");
    assert_eq!(tried["data"][0]["action"], "tool.read");

    customer
        .put_in_force(
            r#"@id("all") permit (principal, action, resource);
               @id("home") forbid (principal, action, resource) when { context.cwd like "/srv*" };"#,
        )
        .await;
    let mut cut = before("Bash", json!({"command": "ls"}));
    cut["cwd"] = json!(format!("/srv/{}", "a/".repeat(1_000)));
    assert_eq!(permission(customer, &passing, &cut).await.0, "deny");
    let listed = customer
        .get_json("/v1/audit/events?event_type=decision")
        .await;
    let context = &listed["data"][0]["metadata"]["question"]["context"];
    assert_eq!(context["truncated"], true);
    assert_eq!(context["cwd"]["bytes"], 2_005);
}

#[tokio::test]
async fn nobody_is_asked_at_the_terminal_where_claude_code_might_not_ask() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(TOOLS).await;
    let mut hook = before("mcp__github__create_issue", json!({"title": "A"}));
    assert_eq!(permission(customer, BEFORE, &hook).await.0, "ask");
    for mode in [
        json!("bypassPermissions"),
        json!("acceptEdits"),
        json!(null),
    ] {
        hook["permission_mode"] = mode;
        let (denied, reason) = permission(customer, BEFORE, &hook).await;
        assert_eq!(denied, "deny", "{hook}");
        assert!(reason.contains("permission mode"), "{reason}");
    }
}

#[tokio::test]
async fn a_call_is_answered_before_the_request_is_given_up() {
    let deployment = Deployment::new().with("HTTP__REQUEST_TIMEOUT_S", "4");
    let running = Running::start(deployment);
    let customer = &running.customer;
    customer.put_in_force(TOOLS).await;
    let hook = before("mcp__github__create_issue", json!({"title": "A"}));
    let waiting = format!("{BEFORE}?wait=20");
    let (denied, reason) = permission(customer, &waiting, &hook).await;
    assert_eq!(denied, "deny");
    assert!(reason.contains("Nobody has approved this yet"), "{reason}");
}

#[tokio::test]
async fn a_refusal_is_a_no_unless_the_address_says_otherwise_because_claude_code_would_go_on() {
    let deployment = Deployment::new().with("LIMITS__HOOK_DECISIONS", "2/1h");
    let running = Running::start(deployment);
    let customer = &running.customer;
    let hook = before("Bash", json!({"command": "ls"}));
    let stranger = Customer {
        api_key: "wb_live_nobody".to_owned(),
        ..customer.clone()
    };
    let passing = format!("{BEFORE}?on_error=pass");
    problem(stranger.post(&passing, &hook).await, 401).await;
    for (query, said) in [
        ("", "deny"),
        ("?on_error=deny", "deny"),
        ("?on_error=ask", "ask"),
    ] {
        let path = format!("{BEFORE}{query}");
        let (refused, reason) = permission(&stranger, &path, &hook).await;
        assert_eq!(refused, said);
        assert!(reason.contains("UNAUTHENTICATED"), "{reason}");
    }
    let denying = format!("{BEFORE}?on_error=deny");
    let nothing = json!({"hook_event_name": "PreToolUse"});
    assert_eq!(permission(customer, &denying, &nothing).await.0, "deny");
    assert_eq!(permission(customer, &denying, &hook).await.0, json!(null));
    let (limited, reason) = permission(customer, &denying, &hook).await;
    assert_eq!(limited, "deny");
    assert!(reason.contains("RATE_LIMITED"), "{reason}");
    let misled = permission(customer, AFTER, &hook).await;
    assert_eq!(misled.0, "deny", "{misled:?}");
}

#[tokio::test]
async fn a_tool_that_ran_or_failed_is_in_the_trail_without_what_it_said() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let input = json!({"command": "cat notes"});
    let asked = before("Bash", input.clone());
    assert_eq!(permission(customer, BEFORE, &asked).await.0, json!(null));
    let mut failed = after("Bash", input.clone());
    failed["hook_event_name"] = json!("PostToolUseFailure");
    failed["error"] = json!("Exit code 1: hunter2");
    failed["is_interrupt"] = json!(false);
    for hook in [after("Bash", input), failed] {
        assert_eq!(ok(customer.post(AFTER, &hook).await).await, json!({}));
    }
    for other in ["Stop", "SessionStart", "UserPromptSubmit"] {
        let hook = json!({"hook_event_name": other, "session_id": "s", "prompt": "hunter2"});
        for path in [BEFORE, AFTER] {
            assert_eq!(ok(customer.post(path, &hook).await).await, json!({}));
        }
    }
    let events = customer.all_events().await;
    let [error, success, decision] = events.as_slice() else {
        panic!("{events:?}")
    };
    assert!(!json!([error, success]).to_string().contains("hunter2"));
    for (event, result) in [(success, "success"), (error, "error")] {
        assert_eq!(event["event_type"], "tool_call");
        assert_eq!(event["agent_id"], "claude-code");
        assert_eq!(event["action"], "tool.bash");
        assert_eq!(event["result"], result);
        assert_eq!(event["session_id"], decision["session_id"]);
        assert_eq!(event["latency_ms"], 38.0);
        let metadata = &event["metadata"];
        assert_eq!(metadata["tool_use_id"], "toolu_01A8bJq2Xb4");
        assert_eq!(
            metadata["request_digest"],
            decision["metadata"]["request_digest"]
        );
        assert_eq!(metadata["tool_input"]["bytes"], 23);
        assert!(metadata["tool_response"]["digest"].is_string());
    }
    assert_eq!(error["error_code"], "tool_error");
}

#[tokio::test]
async fn the_settings_that_the_command_prints_work_as_they_are() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(TOOLS).await;
    let arguments = [
        "hook",
        "claude-code",
        "--url",
        &customer.base_url,
        "--on-allow",
        "allow",
    ];
    let output = run(&arguments, []);
    assert!(output.status.success());
    let settings: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let send = async |event: &str, hook: &Value, key: &str| {
        let entry = &settings["hooks"][event][0];
        assert_eq!(entry["matcher"], "*");
        let handler = &entry["hooks"][0];
        assert_eq!(handler["type"], "http");
        let variable = handler["allowedEnvVars"][0].as_str().expect("a name");
        let header = handler["headers"]["Authorization"]
            .as_str()
            .expect("a text");
        // As Claude Code fills it in.
        let header = header.replace(&format!("${{{variable}}}"), key);
        let url = handler["url"].as_str().expect("an address");
        let request = http()
            .request(Method::POST, url)
            .header("Authorization", header);
        request.json(hook).send().await.expect("an answer")
    };
    let key = customer.api_key.as_str();
    let allowed = before("Bash", json!({"command": "ls"}));
    let answer = ok(send("PreToolUse", &allowed, key).await).await;
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "allow");
    let denied = before("Bash", json!({"command": "rm -rf /"}));
    for (hook, key) in [(&denied, key), (&allowed, "")] {
        let answer = ok(send("PreToolUse", hook, key).await).await;
        assert_eq!(
            answer["hookSpecificOutput"]["permissionDecision"], "deny",
            "{answer}"
        );
    }
    let ran = after("Bash", json!({"command": "ls"}));
    for event in ["PostToolUse", "PostToolUseFailure"] {
        assert_eq!(send(event, &ran, key).await.status(), StatusCode::OK);
    }
    assert!(!stdout(&output).contains("wb_live"));
    let wrong = run(&["hook", "claude-code", "--key-variable", "wb_live-x"], []);
    assert!(!wrong.status.success());
}

#[test]
fn no_tool_runs_when_the_hook_has_no_answer_unless_that_is_wanted() {
    for (on_error, on_failure) in [
        ("deny", json!("block")),
        ("ask", json!("block")),
        ("pass", json!(null)),
    ] {
        let output = run(&["hook", "claude-code", "--on-error", on_error], []);
        let settings: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let handler = |event: &str| settings["hooks"][event][0]["hooks"][0].clone();
        assert_eq!(handler("PreToolUse")["onFailure"], on_failure, "{on_error}");
        assert_eq!(handler("PostToolUse")["onFailure"], json!(null));
    }
}

#[tokio::test]
async fn a_call_that_needs_a_person_waits_for_their_word_where_the_address_says_so() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.approve_alone().await;
    customer.put_in_force(TOOLS).await;
    let hook = before("mcp__github__create_issue", json!({"title": "A"}));
    let said = async |approve: bool| {
        let pending = eventually(DEADLINE, "somebody is asked", async || {
            let page = customer.get_json("/v1/runtime/approvals").await;
            page["data"][0]["decision_id"].as_str().map(str::to_owned)
        })
        .await;
        let said = json!({"approve": approve, "note": "Not today."});
        customer.resolve(&pending, &said).await;
        pending
    };
    let waiting = format!("{BEFORE}?wait=20&on_allow=allow");
    let (approved, first) = tokio::join!(permission(customer, &waiting, &hook), said(true));
    assert_eq!(approved.0, "allow", "{approved:?}");
    let (refused, second) = tokio::join!(permission(customer, &waiting, &hook), said(false));
    assert_eq!(refused.0, "deny");
    assert!(refused.1.contains("Not today."), "{refused:?}");
    assert!(refused.1.contains(&second), "{refused:?}");
    let impatient = format!("{BEFORE}?wait=1");
    let (denied, reason) = permission(customer, &impatient, &hook).await;
    assert_eq!(denied, "deny");
    assert!(reason.contains("Nobody has approved this yet"), "{reason}");

    let listed = customer
        .get_json("/v1/audit/events?event_type=decision&result=allowed")
        .await;
    assert_eq!(listed["data"][0]["metadata"]["approval"], first);
}
