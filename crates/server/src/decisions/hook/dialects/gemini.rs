//! Gemini CLI. It merges a changed input into that of the model, so nothing can be taken out of it.

use domain::fault::Fault;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    super::{
        answer::{Answer, Permission},
        call::{HookCall, mcp_tool},
    },
    CallResult, event, read,
};

const CANNOT_TAKE_OUT: &str =
    "A policy takes something out of what this tool is called with, which Gemini CLI cannot.";

#[derive(Deserialize)]
struct Input {
    #[serde(flatten)]
    call: HookCall,
    mcp_context: Option<McpContext>,
}

/// Of a tool of an MCP server.
#[derive(Deserialize)]
struct McpContext {
    server_name: String,
    tool_name: String,
}

pub(super) fn asked(body: Map<String, Value>) -> Result<HookCall, Fault> {
    event(&body, &["BeforeTool"])?;
    call(body)
}

pub(super) fn told(body: Map<String, Value>) -> Result<(HookCall, CallResult), Fault> {
    event(&body, &["AfterTool"])?;
    let call = call(body)?;
    let error = call.tool_response.as_ref().map(|said| &said["error"]);
    let result = match error {
        None | Some(Value::Null) => CallResult::Success,
        Some(_) => CallResult::Error,
    };
    Ok((call, result))
}

fn call(body: Map<String, Value>) -> Result<HookCall, Fault> {
    let Input {
        mut call,
        mcp_context,
    } = read(body)?;
    if let Some(mcp) = mcp_context {
        call.tool_name = Some(mcp_tool(&[&mcp.server_name, &mcp.tool_name]));
    }
    Ok(call)
}

pub(super) fn says(answer: Answer, asked: &HookCall) -> Value {
    let takes_out = |input: &Map<String, Value>| {
        let wanted = asked.tool_input.as_object();
        wanted.is_some_and(|wanted| wanted.keys().any(|name| !input.contains_key(name)))
    };
    match (answer.permission, answer.input) {
        (Some(Permission::Deny | Permission::Ask), _) => {
            json!({"decision": "deny", "reason": answer.reason})
        }
        (_, Some(input)) if takes_out(&input) => {
            json!({"decision": "deny", "reason": format!("{} {CANNOT_TAKE_OUT}", answer.reason)})
        }
        (_, Some(input)) => {
            json!({"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": input}})
        }
        (Some(Permission::Allow), None) => json!({"decision": "allow"}),
        (None, None) => json!({}),
    }
}
