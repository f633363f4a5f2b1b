//! Cursor. Where its settings say `failClosed`, silence blocks a call: so every answer says something.

use domain::fault::Fault;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    super::{
        answer::{Answer, Permission},
        call::{HookCall, mcp_tool},
    },
    CallResult, event, object_in, read,
};

/// Begins the names of tools of MCP servers: `MCP:<tool>` or `MCP:<server>:<tool>`.
const MCP: &str = "MCP:";

#[derive(Deserialize)]
struct Input {
    hook_event_name: String,
    conversation_id: Option<String>,
    cwd: Option<String>,
    tool_name: Option<String>,
    #[serde(default)]
    tool_input: Value,
    tool_use_id: Option<String>,
    /// Of a command, by the event that is for commands only.
    command: Option<String>,
    tool_output: Option<Value>,
    /// In milliseconds.
    duration: Option<f64>,
    error_message: Option<String>,
    failure_type: Option<String>,
    is_interrupt: Option<bool>,
}

pub(super) fn asked(body: Map<String, Value>) -> Result<HookCall, Fault> {
    let events = ["preToolUse", "beforeShellExecution", "beforeMCPExecution"];
    event(&body, &events)?;
    call(read(body)?)
}

pub(super) fn told(body: Map<String, Value>) -> Result<(HookCall, CallResult), Fault> {
    event(&body, &["postToolUse", "postToolUseFailure"])?;
    let told: Input = read(body)?;
    let result = match (&*told.hook_event_name, told.failure_type.as_deref()) {
        ("postToolUse", _) => CallResult::Success,
        (_, Some("permission_denied")) => CallResult::Denied,
        _ => CallResult::Error,
    };
    Ok((call(told)?, result))
}

fn call(told: Input) -> Result<HookCall, Fault> {
    let (tool_name, tool_input) = match (&*told.hook_event_name, told.command) {
        ("beforeShellExecution", Some(command)) => {
            (Some("Shell".to_owned()), json!({"command": command}))
        }
        ("beforeMCPExecution", _) => {
            let name = told.tool_name.as_deref();
            let name = name.map(|name| mcp_name(name.strip_prefix(MCP).unwrap_or(name)));
            (name, object_in(told.tool_input, "/tool_input")?)
        }
        _ => {
            let name = told.tool_name.map(|name| match name.strip_prefix(MCP) {
                Some(tool) => mcp_name(tool),
                None => name,
            });
            (name, object_in(told.tool_input, "/tool_input")?)
        }
    };
    Ok(HookCall {
        session_id: told.conversation_id,
        cwd: told.cwd,
        tool_name,
        tool_use_id: told.tool_use_id,
        tool_input,
        tool_response: told.tool_output,
        error: told.error_message,
        is_interrupt: told.is_interrupt,
        duration_ms: told.duration,
        ..HookCall::default()
    })
}

fn mcp_name(names: &str) -> String {
    let names: Vec<&str> = names.splitn(2, ':').collect();
    mcp_tool(&names)
}

pub(super) fn says(answer: Answer) -> Value {
    if let Some(Permission::Deny | Permission::Ask) = answer.permission {
        let reason = answer.reason;
        return json!({"permission": "deny", "user_message": reason, "agent_message": reason});
    }
    let mut said = json!({"permission": "allow"});
    if let Some(input) = answer.input {
        said["updated_input"] = Value::Object(input);
    }
    said
}
