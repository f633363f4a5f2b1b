//! Every agent's settings, with our command in them.

use serde_json::{Value, json};

use super::{
    TIMEOUT_S,
    agent::Agent,
    command::{HookCommand, Moment},
};

/// As people read it.
pub(super) fn json(settings: &Value) -> String {
    format!("{settings:#}")
}

/// `settings.json` of Claude Code.
pub(super) fn claude_code(command: &HookCommand) -> anyhow::Result<Value> {
    let before = grouped(&handler(command, Agent::ClaudeCode, Moment::Before)?);
    let after = grouped(&handler(command, Agent::ClaudeCode, Moment::After)?);
    Ok(json!({"hooks": {
        "PreToolUse": before, "PostToolUse": after, "PostToolUseFailure": after,
    }}))
}

/// `hooks.json` of Codex.
pub(super) fn codex(command: &HookCommand) -> anyhow::Result<Value> {
    let before = grouped(&handler(command, Agent::Codex, Moment::Before)?);
    let after = grouped(&handler(command, Agent::Codex, Moment::After)?);
    Ok(json!({"hooks": {"PreToolUse": before, "PostToolUse": after}}))
}

/// `requirements.toml` of Codex.
pub(super) fn codex_requirements(command: &HookCommand) -> anyhow::Result<String> {
    let hook = |event: &str, moment| -> anyhow::Result<String> {
        // A text of JSON is one of TOML.
        let line = Value::from(command.line(Agent::Codex, moment)?);
        Ok(format!(
            "[[hooks.{event}]]\nmatcher = \"*\"\n\n[[hooks.{event}.hooks]]\ntype = \"command\"\n\
             command = {line}\ntimeout = {TIMEOUT_S}"
        ))
    };
    let parts = [
        "allow_managed_hooks_only = true".to_owned(),
        "[features]\nhooks = true".to_owned(),
        hook("PreToolUse", Moment::Before)?,
        hook("PostToolUse", Moment::After)?,
    ];
    Ok(parts.join("\n\n"))
}

/// `settings.json` of Gemini CLI.
pub(super) fn gemini(command: &HookCommand, is_managed: bool) -> anyhow::Result<Value> {
    let with_timeout = |moment| -> anyhow::Result<Value> {
        let mut handler = handler(command, Agent::Gemini, moment)?;
        // In milliseconds.
        handler["timeout"] = json!(TIMEOUT_S * 1000);
        handler["name"] = json!("watchbell");
        Ok(grouped(&handler))
    };
    let mut settings = json!({"hooks": {
        "BeforeTool": with_timeout(Moment::Before)?, "AfterTool": with_timeout(Moment::After)?,
    }});
    if is_managed {
        settings["hooksConfig"] = json!({"enabled": true, "disabled": []});
    }
    Ok(settings)
}

/// A file of hooks of GitHub Copilot CLI.
pub(super) fn copilot(command: &HookCommand) -> anyhow::Result<Value> {
    let entry = |moment| -> anyhow::Result<Value> {
        let line = command.line(Agent::Copilot, moment)?;
        Ok(json!([{"type": "command", "bash": line, "timeoutSec": TIMEOUT_S}]))
    };
    let after = entry(Moment::After)?;
    Ok(json!({"version": 1, "hooks": {
        "preToolUse": entry(Moment::Before)?, "postToolUse": after, "postToolUseFailure": after,
    }}))
}

/// `hooks.json` of Cursor.
pub(super) fn cursor(command: &HookCommand) -> anyhow::Result<Value> {
    let line = |moment| command.line(Agent::Cursor, moment);
    let before =
        json!([{"command": line(Moment::Before)?, "timeout": TIMEOUT_S, "failClosed": true}]);
    let after = json!([{"command": line(Moment::After)?, "timeout": TIMEOUT_S}]);
    Ok(json!({"version": 1, "hooks": {
        "preToolUse": before, "postToolUse": after, "postToolUseFailure": after,
    }}))
}

fn handler(command: &HookCommand, agent: Agent, moment: Moment) -> anyhow::Result<Value> {
    let line = command.line(agent, moment)?;
    Ok(json!({"type": "command", "command": line, "timeout": TIMEOUT_S}))
}

/// For every tool.
fn grouped(handler: &Value) -> Value {
    json!([{"matcher": "*", "hooks": [handler]}])
}
