//! `watchbell hook run`, the settings that name it, and `watchbell hook doctor`.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Answer, Receiver};

use crate::cli::{Said, Terminal, full};
use crate::deployment::{BINARY, Deployment, Running};

const POLICIES: &str = r#"
    @id("tools") permit (principal, action in Action::"tool", resource);
    @id("no-removing")
    @reason("Nothing is removed recursively.")
    forbid (principal, action in Action::"tool", resource)
    when { context.tool_input.command like "*rm -rf*" };
"#;

/// As Codex hands it over.
fn call(event: &str, command: &str) -> String {
    let call = json!({
        "session_id": "01a1f34c", "turn_id": "01a1f34d", "transcript_path": null, "cwd": "/srv/app", "model": "gpt-5",
        "hook_event_name": event, "permission_mode": "default", "tool_name": "Bash",
        "tool_input": {"command": command}, "tool_use_id": "call_1", "tool_response": "",
    });
    call.to_string()
}

fn permission(said: &Said) -> Value {
    let answer: Value = serde_json::from_str(&said.stdout).expect("JSON");
    answer["hookSpecificOutput"]["permissionDecision"].clone()
}

#[tokio::test]
async fn a_hook_is_answered_and_recorded_and_without_an_answer_it_blocks_the_call() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(POLICIES).await;
    let mut terminal = Terminal::of(customer);
    let before = ["hook", "run", "codex", "--agent-id", "builder"];
    let after = ["hook", "run", "codex", "--agent-id", "builder", "--after"];
    let ask =
        |terminal: &Terminal, command| terminal.run_with(&call("PreToolUse", command), &before);
    let allowed = ask(&terminal, "ls");
    assert_eq!((allowed.code, allowed.stdout.trim()), (Some(0), "{}"));
    let denied = ask(&terminal, "rm -rf /");
    assert_eq!((denied.code, permission(&denied)), (Some(0), json!("deny")));
    let told = terminal.run_with(&call("PostToolUse", "ls"), &after);
    assert_eq!((told.code, told.stdout.trim()), (Some(0), "{}"));
    let mut events = customer.all_events().await;
    events.retain(|event| event["event_type"] != "policy_change");
    let kinds: Vec<_> = events.iter().map(|event| &event["event_type"]).collect();
    assert_eq!(kinds, ["tool_call", "decision", "decision"]);
    assert!(events.iter().all(|event| event["agent_id"] == "builder"));
    assert_eq!(
        events[0]["metadata"]["request_digest"],
        events[2]["metadata"]["request_digest"]
    );

    // What the agent hands over is not what it should be.
    for strange in [
        "",
        "ls",
        "[]",
        &call("PostToolUse", "ls"),
        &call("Renamed", "ls"),
    ] {
        let said = terminal.run_with(strange, &before);
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{strange}");
        assert!(
            said.stderr.contains("this call is blocked"),
            "{}",
            said.stderr
        );
    }
    assert_eq!(terminal.run(&["hook", "run", "no-agent"]).code, Some(2));
    let unheard = terminal.run_into(full(), &call("PreToolUse", "ls"), &before);
    assert_eq!(unheard.code, Some(2), "{}", unheard.stderr);

    // Somebody else answers there, or nobody does.
    let stranger = Receiver::start().expect("a receiver");
    stranger.answer_always(Answer::status(200).body("welcome"));
    let stranger = stranger.url_of("");
    for (name, value) in [
        ("WATCHBELL_API_KEY", "wb_live_nobody"),
        ("WATCHBELL_URL", &stranger),
        ("WATCHBELL_URL", "http://127.0.0.1:9"),
    ] {
        terminal.set(name, value);
        let said = ask(&terminal, "ls");
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{value}");
        assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
        let told = terminal.run_with(&call("PostToolUse", "ls"), &after);
        assert_eq!(told.code, Some(1), "{value}");
        assert!(told.stderr.contains("not recorded"), "{}", told.stderr);
    }
}

/// Runs a command of somebody's settings as an agent does.
fn shell(terminal: &Terminal, line: &str, path: &str, input: &str) -> (Option<i32>, String) {
    let mut child = Command::new("sh")
        .args(["-c", line])
        .env("PATH", path)
        .env("HOME", terminal.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that is not there reads nothing.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    (output.status.code(), said)
}

#[test]
fn the_commands_that_are_printed_block_a_call_also_when_the_program_is_not_there() {
    let terminal = Terminal::bare();
    let here = Path::new(BINARY).parent().expect("a folder").display();
    let here = format!("{here}:/usr/bin:/bin");
    for (agent, pointer) in [
        ("codex", "/hooks/PreToolUse/0/hooks/0/command"),
        ("gemini", "/hooks/BeforeTool/0/hooks/0/command"),
        ("copilot", "/hooks/preToolUse/0/bash"),
        ("cursor", "/hooks/preToolUse/0/command"),
    ] {
        let arguments = [
            "hook",
            agent,
            "--url",
            "http://127.0.0.1:9",
            "--agent-id",
            "Ann's",
        ];
        let printed = terminal.run(&arguments);
        let settings: Value = serde_json::from_str(&printed.stdout).expect("settings");
        let line = settings.pointer(pointer).and_then(Value::as_str);
        let line = line.unwrap_or_else(|| panic!("{settings:#}"));
        let call = call("PreToolUse", "ls");
        for path in [&*here, "/usr/bin:/bin"] {
            let (code, said) = shell(&terminal, line, path, &call);
            assert_eq!((code, &*said), (Some(2), ""), "{line}");
        }
    }
    let managed = terminal.run(&["hook", "codex", "--managed"]);
    assert!(
        managed
            .stdout
            .starts_with("allow_managed_hooks_only = true\n")
    );
    let command = r#"command = "watchbell hook run codex || exit 2""#;
    assert!(managed.stdout.contains(command), "{}", managed.stdout);
    let managed = terminal.run(&[
        "hook",
        "claude-code",
        "--managed",
        "--url",
        "https://w.example.com/",
    ]);
    let settings: Value = serde_json::from_str(&managed.stdout).expect("settings");
    assert_eq!(settings["allowManagedHooksOnly"], true);
    assert_eq!(
        settings["allowedHttpHookUrls"],
        json!(["https://w.example.com/v1/hooks/*"])
    );
}

/// A program that says this version.
fn program(terminal: &Terminal, name: &str, version: &str) {
    fs::create_dir_all(terminal.path("bin")).expect("a folder");
    let path = terminal.path("bin").join(name);
    fs::write(&path, format!("#!/bin/sh\necho '{version}'\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
}

#[tokio::test]
async fn the_doctor_says_which_agents_are_guarded_and_what_to_do_about_the_others() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    let bin = terminal.path("bin");
    let terminal = terminal.with("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    let doctor = || terminal.run(&["hook", "doctor"]);
    let nobody = doctor();
    assert_eq!(nobody.code, Some(0), "{}", nobody.stdout);
    assert!(
        nobody.stdout.contains("No coding agent"),
        "{}",
        nobody.stdout
    );

    program(&terminal, "claude", "2.1.294 (Claude Code)");
    program(&terminal, "gemini", "0.61.0");
    program(&terminal, "copilot", "GitHub Copilot CLI 1.0.102.");
    program(&terminal, "cursor-agent", "2026.11.03-1a2b3c4");
    let said = doctor();
    assert_eq!(said.code, Some(1));
    let asked = said
        .stdout
        .matches("Nothing asks us before a tool runs")
        .count();
    assert_eq!(asked, 4, "{}", said.stdout);

    for (agent, file) in [
        ("claude-code", ".claude/settings.json"),
        ("gemini", ".gemini/settings.json"),
        ("copilot", ".copilot/hooks/watchbell.json"),
        ("cursor", ".cursor/hooks.json"),
    ] {
        let printed = terminal.run(&["hook", agent]);
        let file = terminal.path(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, printed.stdout).expect("written");
    }
    let said = doctor();
    assert_eq!(said.code, Some(1));
    assert!(
        said.stdout.contains("this version ignores `onFailure`"),
        "{}",
        said.stdout
    );
    program(&terminal, "claude", "2.1.328 (Claude Code)");
    let said = doctor();
    assert_eq!(said.code, Some(0), "{}", said.stdout);

    let settings = terminal.path(".gemini/settings.json");
    let text = fs::read_to_string(&settings).expect("settings");
    fs::write(&settings, text.replace(" || exit 2", "")).expect("written");
    let said = doctor();
    assert_eq!(said.code, Some(1));
    assert!(
        said.stdout.contains("gemini: Calls go on"),
        "{}",
        said.stdout
    );
    fs::write(&settings, "{").expect("written");
    assert!(doctor().stdout.contains("it is not JSON"));
    fs::write(&settings, text).expect("written");

    let as_json = terminal.run(&["hook", "doctor", "-o", "json"]);
    let report: Value = serde_json::from_str(&as_json.stdout).expect("JSON");
    assert_eq!(report["agents"][0]["version"], "2.1.328");
    assert_eq!(report["agents"][0]["is_guarded"], true);
    let terminal = terminal.with("WATCHBELL_API_KEY", "wb_live_nobody");
    let refused = terminal.run(&["hook", "doctor"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stdout.contains("401"), "{}", refused.stdout);
    assert!(
        running.customer.all_events().await.is_empty(),
        "nothing was asked"
    );
}
