//! Docker's MCP gateway and its interceptors. Any answer to it takes the place of the tool's result, so it can be denied a call,
//! and not told to make another one. What it tells afterwards is a result without the call.

use domain::fault::Fault;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    super::{
        answer::{Answer, Permission},
        call::{HookCall, mcp_tool},
    },
    CallResult, read,
};

/// What a result is told about, as the gateway does not say which tool it is of.
const SOME_TOOL: &str = "docker-mcp";

const CANNOT_CHANGE: &str =
    "A policy changes what this tool is called with, which Docker's gateway cannot.";

#[derive(Deserialize)]
struct Question {
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    content: Option<Value>,
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
}

pub(super) fn asked(body: Map<String, Value>) -> Result<HookCall, Fault> {
    let asked: Question = read(body)?;
    Ok(HookCall {
        tool_name: Some(mcp_tool(&[&asked.params.name])),
        tool_input: asked.params.arguments,
        ..HookCall::default()
    })
}

pub(super) fn told(body: Map<String, Value>) -> Result<(HookCall, CallResult), Fault> {
    let told: Outcome = read(body)?;
    let result = if told.is_error {
        CallResult::Error
    } else {
        CallResult::Success
    };
    let call = HookCall {
        tool_name: Some(mcp_tool(&[SOME_TOOL])),
        tool_response: told.structured_content.or(told.content),
        ..HookCall::default()
    };
    Ok((call, result))
}

/// Nothing for a call that goes on.
pub(super) fn says(answer: Answer) -> Option<Value> {
    let reason = match (answer.permission, answer.input) {
        (Some(Permission::Deny | Permission::Ask), _) => answer.reason,
        (_, Some(_)) => format!("{} {CANNOT_CHANGE}", answer.reason),
        (_, None) => return None,
    };
    Some(json!({"content": [{"type": "text", "text": reason}], "isError": true}))
}
