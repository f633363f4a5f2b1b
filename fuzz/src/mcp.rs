//! What MCP clients and servers send: a call is never taken for something that passes, and what passes is not changed.

use domain::{
    event::check::fault_of_call,
    mcp::{FromClient, FromServer, ToolCall, Tools, sse::Events, with_arguments, without_tools},
};
use serde_json::{Map, Value, json};

pub(crate) fn check(input: &[u8]) {
    from_client(input);
    from_server(input);
    stream(input);
}

fn from_client(input: &[u8]) {
    let read = FromClient::read(input);
    // As most readers read it: of two members the last.
    let value: Option<Value> = serde_json::from_slice(input).ok();
    // In any case, as some servers read it.
    let calls = |message: &Value| {
        let members = message.as_object().into_iter().flatten();
        let mut methods = members.filter(|(name, _)| name.eq_ignore_ascii_case("method"));
        methods.any(|(_, method)| method == "tools/call")
    };
    match read {
        FromClient::Calls { id, call } => {
            let value = value.expect("it is JSON");
            assert!(calls(&value));
            assert_eq!(value["params"]["name"], *call.tool);
            assert_eq!(value["id"], id.to_json());
            holds(&call);
            let mut arguments = Map::new();
            arguments.insert("changed".to_owned(), json!(true));
            let changed = with_arguments(input, arguments.clone()).expect("it is a call");
            let expected = FromClient::Calls {
                id,
                call: ToolCall { arguments, ..call },
            };
            assert_eq!(FromClient::read(&changed), expected);
        }
        FromClient::Refused { answer, .. } => {
            assert!(answer.is_none_or(|answer| answer.is_object() || answer.is_array()));
        }
        _ => match value.expect("what passes is JSON") {
            Value::Array(batch) => assert!(!batch.iter().any(calls)),
            message => assert!(!calls(&message)),
        },
    }
}

/// What is called can be recorded.
fn holds(call: &ToolCall) {
    if let Some(action) = call.action("server") {
        let fault = fault_of_call("agent", &action, Some(&call.resource()));
        assert!(fault.is_none(), "{fault:?}");
    }
    if let Some(trace) = &call.trace {
        assert_eq!((trace.trace_id.len(), trace.span_id.len()), (32, 16));
    }
}

fn from_server(input: &[u8]) {
    let Ok(said) = FromServer::read(input) else {
        return;
    };
    for answered in said.answers {
        if let Some(tools) = answered.result().and_then(Tools::of) {
            let count = tools.definitions().count();
            if !said.is_batch {
                let is_hidden = |place: usize| place.is_multiple_of(2);
                let rest = without_tools(input, is_hidden).expect("it lists tools");
                let rest: Value = serde_json::from_slice(&rest).expect("JSON");
                let left = rest["result"]["tools"].as_array().expect("tools").len();
                assert_eq!(left, count / 2);
            }
        }
        let _ = answered.outcome();
    }
}

/// Events are the same wherever a stream is cut.
fn stream(input: &[u8]) {
    let whole = Events::default().push(input).expect("it is small");
    let mut events = Events::default();
    let mut pieces = Vec::new();
    for bytes in input.chunks(3) {
        pieces.extend(events.push(bytes).expect("it is small"));
    }
    assert_eq!(whole, pieces);
}
