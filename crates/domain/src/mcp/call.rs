//! A call of a tool, and what came of it.

use serde_json::{Map, Value};

use super::{
    json::{self, SameName},
    message::Content,
};
use crate::event::sanitize;

/// The longest name of a tool (the specification's bound since 2025-11-25).
const TOOL_CHARS_MAX: usize = 128;
/// The longest of the short texts that a client says of itself.
const TEXT_CHARS_MAX: usize = 128;
/// The longest action of an event.
const ACTION_BYTES_MAX: usize = 128;

/// A call as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub tool: String,
    pub arguments: Map<String, Value>,
    /// The run of the agent that the call is a part of, if the client says so.
    pub trace: Option<Trace>,
    /// Since 2026-07-28 each request says which revision it is of, and who sends it.
    pub protocol_version: Option<String>,
    pub client_name: Option<String>,
}

/// A place in a trace, in the words of W3C Trace Context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub trace_id: String,
    pub span_id: String,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Success(Value),
    /// The tool says that it failed: the result has `isError`.
    ToolError(Value),
    /// The server did not call it.
    ProtocolError(Value),
    /// The server needs more from the client, which then calls again (2026-07-28).
    InputRequired(Value),
}

impl ToolCall {
    /// A call of a tool that there may be.
    pub fn without_arguments(tool: &str) -> Option<Self> {
        is_name(tool).then(|| Self {
            tool: tool.to_owned(),
            arguments: Map::new(),
            trace: None,
            protocol_version: None,
            client_name: None,
        })
    }

    pub(super) fn of(params: &Map<String, Value>) -> Result<Self, &'static str> {
        let tool = params.get("name").and_then(Value::as_str);
        let tool = tool.ok_or("`name` must be the name of a tool")?;
        if !is_name(tool) {
            return Err("`name` must have 1 to 128 characters");
        }
        let arguments = match params.get("arguments") {
            None => Map::new(),
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(_) => return Err("`arguments` must be an object"),
        };
        let meta = params.get("_meta");
        let said = |name: &str| meta.and_then(|meta| meta.get(name));
        let text = |value: Option<&Value>| {
            let text = value.and_then(Value::as_str)?;
            sanitize::text(text, TEXT_CHARS_MAX)
        };
        let client = said("io.modelcontextprotocol/clientInfo");
        Ok(Self {
            tool: tool.to_owned(),
            arguments,
            trace: said("traceparent")
                .and_then(Value::as_str)
                .and_then(Trace::of),
            protocol_version: text(said("io.modelcontextprotocol/protocolVersion")),
            client_name: text(client.and_then(|client| client.get("name"))),
        })
    }

    /// `mcp.<server>.<tool>`, the same as a hook of an agent says for this tool. None if it would have to be cut: two tools would
    /// be one action.
    pub fn action(&self, server: &str) -> Option<String> {
        let chars = "mcp..".len() + server.chars().count() + self.tool.chars().count();
        (chars <= ACTION_BYTES_MAX).then(|| self.action_or_part(server))
    }

    /// The same, cut where it must be: for the record of a call that was not made.
    pub fn action_or_part(&self, server: &str) -> String {
        let names = [server.to_lowercase(), self.tool.to_lowercase()];
        sanitize::in_area("mcp", names.iter().map(String::as_str))
    }

    pub fn resource(&self) -> String {
        format!("tool:{}", self.tool)
    }
}

fn is_name(tool: &str) -> bool {
    (1..=TOOL_CHARS_MAX).contains(&tool.chars().count()) && !tool.contains('\0')
}

impl Trace {
    /// `00-<32 digits>-<16 digits>-<2 digits>`; later versions may have more behind that. All zeros are no id.
    fn of(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let mut next = |digits: usize| {
            let part = parts.next()?;
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let is_sound = part.len() == digits && part.bytes().all(is_digit);
            is_sound.then(|| part.to_owned())
        };
        let version = next(2)?;
        let (trace_id, span_id) = (next(32)?, next(16)?);
        next(2)?;
        let is_zero = |id: &str| id.bytes().all(|byte| byte == b'0');
        let is_sound = version != "ff" && !is_zero(&trace_id) && !is_zero(&span_id);
        is_sound.then_some(Self { trace_id, span_id })
    }
}

/// A message that calls a tool, with other arguments. None if it is no such message.
pub fn with_arguments(message: &[u8], arguments: Map<String, Value>) -> Option<Vec<u8>> {
    let mut message = json::read(message, SameName::AsSpelled).ok()?;
    let params = message.get_mut("params")?.as_object_mut()?;
    params.insert("arguments".to_owned(), Value::Object(arguments));
    Some(message.to_string().into_bytes())
}

impl Outcome {
    /// What was answered.
    pub fn content(&self) -> &Value {
        match self {
            Self::Success(content)
            | Self::ToolError(content)
            | Self::ProtocolError(content)
            | Self::InputRequired(content) => content,
        }
    }

    pub(super) fn of(content: Content) -> Self {
        match content {
            Content::Error(error) => Self::ProtocolError(error),
            Content::Result(result) => {
                let says = |name: &str| result.get(name).cloned().unwrap_or_default();
                if says("resultType") == "input_required" {
                    Self::InputRequired(result)
                } else if says("isError") == true {
                    Self::ToolError(result)
                } else {
                    Self::Success(result)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(params: &Value) -> Result<ToolCall, &'static str> {
        ToolCall::of(params.as_object().expect("an object"))
    }

    #[test]
    fn a_call_names_a_tool_and_where_it_belongs() {
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let read = call(
            &json!({"name": "Read File", "arguments": {"path": "/a"}, "_meta": {
            "traceparent": trace, "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "editor", "version": "1"}}}),
        );
        let read = read.expect("a call");
        assert_eq!(read.action("Files").as_deref(), Some("mcp.files.read_file"));
        assert_eq!(read.resource(), "tool:Read File");
        let trace = read.trace.expect("a trace");
        assert_eq!(trace.trace_id, "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(trace.span_id, "b7ad6b7169203331");
        assert_eq!(read.protocol_version.as_deref(), Some("2026-07-28"));
        assert_eq!(read.client_name.as_deref(), Some("editor"));
    }

    #[test]
    fn what_names_no_tool_is_no_call() {
        for params in [
            json!({}),
            json!({"name": ""}),
            json!({"name": 7}),
            json!({"name": "x".repeat(129)}),
            json!({"name": "a\0b"}),
            json!({"name": "a", "arguments": [1]}),
            json!({"name": "a", "arguments": null}),
        ] {
            assert!(call(&params).is_err(), "{params}");
        }
    }

    #[test]
    fn no_two_tools_share_an_action_because_it_was_cut() {
        let call = call(&json!({"name": "x".repeat(120)})).expect("a call");
        assert_eq!(call.action("abcd"), None);
        assert_eq!(call.action_or_part("abcd").len(), 128);
        assert_eq!(call.action("abc").map(|action| action.len()), Some(128));
    }

    #[test]
    fn a_trace_that_is_not_sound_is_none() {
        for text in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        ] {
            assert_eq!(Trace::of(text), None, "{text}");
        }
    }
}
