//! How each agent tells of a call, and what it understands of an answer: pure, and the only place that knows.
//!
//! | | asks before a tool by | denies by | changes the input by | says nothing by |
//! |---|---|---|---|---|
//! | [`claude_code`] | `PreToolUse` | `permissionDecision: deny` | `updatedInput` | `{}` |
//! | [`codex`] | `PreToolUse` | the same | the same, with `allow` | `{}` |
//! | [`gemini`] | `BeforeTool` | `decision: deny` | `tool_input`, which is merged | `{}` |
//! | [`copilot`] | `preToolUse` | `permissionDecision: deny` | `modifiedArgs` | `{}` |
//! | [`cursor`] | `preToolUse` | `permission: deny` | `updated_input` | `permission: allow` |
//! | [`docker_mcp`] | a `tools/call` | a result with `isError` | not at all | no body |
//!
//! What an agent calls its tools is left as it is; a tool of an MCP server is `mcp__<server>__<tool>` for all of them.

pub mod claude_code;
mod codex;
mod copilot;
mod cursor;
mod docker_mcp;
mod gemini;

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use domain::{error_code::ErrorCode, fault::Fault};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{answer::Answer, call::HookCall};
use crate::edge::{Problem, strict_json};

/// What is said where a person would have to be asked, and the agent cannot be made to.
const NOBODY_ASKED: &str = "This agent cannot be relied on to ask anyone, so the call is denied; with `--wait` someone else \
                            can approve it.";

/// An agent whose hooks we understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    ClaudeCode,
    Codex,
    Copilot,
    Cursor,
    DockerMcp,
    Gemini,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallResult {
    Success,
    Error,
    Denied,
}

impl CallResult {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Denied => "denied",
        }
    }
}

impl Dialect {
    pub const ALL: [Self; 6] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Copilot,
        Self::Cursor,
        Self::DockerMcp,
        Self::Gemini,
    ];

    /// As addresses have it; also who acts if nobody says.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
            Self::DockerMcp => "docker-mcp",
            Self::Gemini => "gemini",
        }
    }

    /// The call that is asked about.
    pub fn asked(self, body: Map<String, Value>) -> Result<HookCall, Fault> {
        match self {
            Self::ClaudeCode | Self::Codex => claude_code::asked(body),
            Self::Copilot => copilot::asked(body),
            Self::Cursor => cursor::asked(body),
            Self::DockerMcp => docker_mcp::asked(body),
            Self::Gemini => gemini::asked(body),
        }
    }

    /// The call that was made, and what became of it.
    pub fn told(self, body: Map<String, Value>) -> Result<(HookCall, CallResult), Fault> {
        match self {
            Self::ClaudeCode => claude_code::told(body),
            Self::Codex => codex::told(body),
            Self::Copilot => copilot::told(body),
            Self::Cursor => cursor::told(body),
            Self::DockerMcp => docker_mcp::told(body),
            Self::Gemini => gemini::told(body),
        }
    }

    /// Why the person at the terminal cannot be asked, if so.
    pub fn nobody_asked(self, call: &HookCall) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => claude_code::nobody_asked(call),
            _ => Some(NOBODY_ASKED),
        }
    }

    /// The answer in the agent's words; `None` is no body at all.
    pub fn says(self, answer: Answer, asked: &HookCall) -> Option<Value> {
        match self {
            Self::ClaudeCode => Some(claude_code::says(answer)),
            Self::Codex => Some(codex::says(answer)),
            Self::Copilot => Some(copilot::says(answer)),
            Self::Cursor => Some(cursor::says(answer)),
            Self::DockerMcp => docker_mcp::says(answer),
            Self::Gemini => Some(gemini::says(answer, asked)),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Dialect {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let named = Path::<String>::from_request_parts(parts, state).await;
        let named = named.map(|Path(name)| name).unwrap_or_default();
        let known = Self::ALL.into_iter().find(|one| one.name() == named);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            let detail = format!("The path does not name an agent; these are known: {names}.");
            Problem::new(ErrorCode::NotFound, detail)
        })
    }
}

/// An event by another name must not pass for an answer: the agent may have a new name for the question.
fn event(body: &Map<String, Value>, known: &[&str]) -> Result<(), Fault> {
    let named = body.get("hook_event_name").and_then(Value::as_str);
    if named.is_some_and(|name| known.contains(&name)) {
        return Ok(());
    }
    let detail = format!("`hook_event_name` must be {} here.", known.join(" or "));
    Err(Fault::invalid("/hook_event_name", detail))
}

fn read<T: DeserializeOwned>(body: Map<String, Value>) -> Result<T, Fault> {
    serde_json::from_value(Value::Object(body)).map_err(|error| {
        let detail = format!("The call could not be read: {error}.");
        Fault::invalid("", detail)
    })
}

/// What a tool is called with, which some agents tell as a text of JSON. The agent reads that text again, so nothing may be
/// in it twice.
fn object_in(input: Value, pointer: &str) -> Result<Value, Fault> {
    let Value::String(text) = input else {
        return Ok(input);
    };
    let read = serde_json::from_str(&text).ok().filter(Value::is_object);
    match strict_json::repeated(text.as_bytes()) {
        Some(twice) => {
            let detail = format!("{twice} is given twice in this text.");
            Err(Fault::invalid(pointer, detail))
        }
        None => read.ok_or_else(|| Fault::invalid(pointer, "This text must be a JSON object.")),
    }
}

fn as_json(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).expect("it is made of texts and values")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use utoipa::PartialSchema as _;

    use super::*;
    use crate::edge::enums::HookDialect;

    #[test]
    fn every_agent_is_in_the_api_document() {
        let documented = serde_json::to_value(HookDialect::schema()).expect("JSON");
        assert_eq!(documented["enum"], json!(Dialect::ALL.map(Dialect::name)));
    }
}
