//! GitHub Copilot CLI. Its events are `preToolUse`, `postToolUse` and `postToolUseFailure`, which it does not name in what it
//! tells: the address does. Under the names that Claude Code has for them it uses other names for the rest, too.

use domain::fault::Fault;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    super::{
        answer::{Answer, Permission},
        call::HookCall,
    },
    CallResult, object_in, read,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    #[serde(alias = "session_id")]
    session_id: Option<String>,
    cwd: Option<String>,
    #[serde(alias = "tool_name")]
    tool_name: Option<String>,
    #[serde(alias = "tool_input", default)]
    tool_args: Value,
    #[serde(alias = "tool_result")]
    tool_result: Option<Value>,
    error: Option<Value>,
}

pub(super) fn asked(body: Map<String, Value>) -> Result<HookCall, Fault> {
    let told: Input = read(body)?;
    if told.tool_result.is_some() || told.error.is_some() {
        let detail = "This call was made already; it is told to `/after`.";
        return Err(Fault::invalid("", detail));
    }
    call(told)
}

pub(super) fn told(body: Map<String, Value>) -> Result<(HookCall, CallResult), Fault> {
    let told: Input = read(body)?;
    let kind = told.tool_result.as_ref().and_then(|result| {
        let kind = result.get("resultType").or(result.get("result_type"))?;
        kind.as_str()
    });
    let result = match (&told.error, kind) {
        (None, None) => {
            let detail = "This call was not made yet; `/before` is asked about it.";
            return Err(Fault::invalid("", detail));
        }
        (None, Some("success")) => CallResult::Success,
        (None, Some("denied")) => CallResult::Denied,
        _ => CallResult::Error,
    };
    Ok((call(told)?, result))
}

fn call(told: Input) -> Result<HookCall, Fault> {
    Ok(HookCall {
        session_id: told.session_id,
        cwd: told.cwd,
        tool_name: told.tool_name,
        tool_input: object_in(told.tool_args, "/toolArgs")?,
        tool_response: told.tool_result,
        error: told.error.map(|error| match error {
            Value::String(text) => text,
            other => other.to_string(),
        }),
        ..HookCall::default()
    })
}

pub(super) fn says(answer: Answer) -> Value {
    let mut said = match answer.permission {
        None => json!({}),
        Some(Permission::Deny | Permission::Ask) => {
            return json!({"permissionDecision": "deny", "permissionDecisionReason": answer.reason});
        }
        Some(Permission::Allow) => {
            json!({"permissionDecision": "allow", "permissionDecisionReason": answer.reason})
        }
    };
    if let Some(input) = answer.input {
        said["modifiedArgs"] = Value::Object(input);
    }
    said
}
