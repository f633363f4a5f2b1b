//! What a client sends, and what a guard does with it.

use serde_json::{Map, Value};

use super::{
    ToolCall,
    answer::{self, INVALID_PARAMS, INVALID_REQUEST, NOT_ALLOWED, PARSE_ERROR},
    json::{self, Unreadable},
    message::{Message, RequestId},
    methods::{CANCELED, INITIALIZE, TOOLS_CALL, TOOLS_LIST, is_notification, passes},
};
use crate::event::sanitize;

/// The longest name of a client that is looked at.
const NAME_CHARS_MAX: usize = 128;

/// A message of a client.
#[derive(Debug, PartialEq)]
pub enum FromClient {
    /// It passes unchanged.
    Passes,
    /// A tool is to be called: it passes if that is allowed.
    Calls { id: RequestId, call: ToolCall },
    /// It passes, and the answer will say which tools there are: from the first one on, or more of them.
    Lists { id: RequestId, is_first: bool },
    /// It passes, and a request is given up.
    Cancels { id: RequestId },
    /// It passes, and says who the client is.
    Begins {
        protocol_version: Option<String>,
        client_name: Option<String>,
    },
    /// It does not pass. The client is answered this, if it waits for an answer.
    Refused {
        answer: Option<Value>,
        why: &'static str,
    },
}

/// What a message asks for, for those who compare it with what is said beside it.
pub fn method_of(bytes: &[u8]) -> Option<String> {
    match Message::of(json::read(bytes).ok()?).ok()? {
        Message::Request { method, .. } | Message::Notification { method, .. } => Some(method),
        Message::Response { .. } => None,
    }
}

impl FromClient {
    pub fn read(bytes: &[u8]) -> Self {
        match json::read(bytes) {
            Ok(Value::Array(batch)) => Self::of_batch(batch),
            Ok(value) => Message::of(value).map_or_else(|error| invalid(&error), Self::of),
            Err(error) => Self::Refused {
                answer: Some(answer::error(None, PARSE_ERROR, &error.to_string())),
                why: "it is not JSON that has one meaning",
            },
        }
    }

    fn of(message: Message) -> Self {
        match message {
            Message::Request { id, method, params } => Self::of_request(id, &method, &params),
            Message::Notification { method, params } if method == CANCELED => {
                match params.get("requestId").and_then(RequestId::of) {
                    Some(id) => Self::Cancels { id },
                    None => Self::Passes,
                }
            }
            Message::Notification { method, .. } if is_notification(&method) => Self::Passes,
            // A server that does not insist on an id would call the tool.
            Message::Notification { .. } => Self::Refused {
                answer: None,
                why: "it is a request without an id",
            },
            Message::Response { .. } => Self::Passes,
        }
    }

    fn of_request(id: RequestId, method: &str, params: &Map<String, Value>) -> Self {
        match method {
            TOOLS_CALL => match ToolCall::of(params) {
                Ok(call) => Self::Calls { id, call },
                Err(why) => Self::Refused {
                    answer: Some(answer::error(Some(&id), INVALID_PARAMS, why)),
                    why,
                },
            },
            TOOLS_LIST => Self::Lists {
                is_first: !params.contains_key("cursor"),
                id,
            },
            INITIALIZE => {
                let text = |value: Option<&Value>| {
                    let text = value.and_then(Value::as_str)?;
                    sanitize::text(text, NAME_CHARS_MAX)
                };
                let client = params.get("clientInfo");
                Self::Begins {
                    protocol_version: text(params.get("protocolVersion")),
                    client_name: text(client.and_then(|client| client.get("name"))),
                }
            }
            method if passes(method) => Self::Passes,
            _ => {
                let why = "the guard does not know this method";
                Self::Refused {
                    answer: Some(answer::error(Some(&id), NOT_ALLOWED, why)),
                    why,
                }
            }
        }
    }

    /// Several messages in one were allowed in 2025-03-26 alone. They pass if each of them would and none says which tools there
    /// are; a call must come by itself, because its answer may come later than the others.
    fn of_batch(batch: Vec<Value>) -> Self {
        let why = "calls and lists of tools cannot be in a batch; send them one by one";
        let mut waiting = Vec::new();
        let mut is_passing = !batch.is_empty();
        for value in batch {
            let message = Message::of(value);
            if let Ok(Message::Request { id, .. }) = &message {
                waiting.push(id.clone());
            }
            let is_one = |message| matches!(Self::of(message), Self::Passes);
            is_passing &= message.is_ok_and(is_one);
        }
        if is_passing {
            return Self::Passes;
        }
        let errors = waiting
            .iter()
            .map(|id| answer::error(Some(id), INVALID_REQUEST, why));
        let errors: Vec<Value> = errors.collect();
        let answer = if errors.is_empty() {
            answer::error(None, INVALID_REQUEST, why)
        } else {
            Value::Array(errors)
        };
        Self::Refused {
            answer: Some(answer),
            why,
        }
    }
}

fn invalid(error: &Unreadable) -> FromClient {
    FromClient::Refused {
        answer: Some(answer::error(None, INVALID_REQUEST, &error.to_string())),
        why: "it is no message of JSON-RPC 2.0",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> FromClient {
        FromClient::read(value.to_string().as_bytes())
    }

    fn request(method: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": "a"}})
    }

    #[test]
    fn what_calls_no_tool_passes() {
        for message in [
            request("ping"),
            request("resources/read"),
            request("server/discover"),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "method": "notifications/of_tomorrow", "params": {}}),
            json!({"jsonrpc": "2.0", "id": "srv-1", "result": {"roots": []}}),
            json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -1, "message": "no"}}),
            json!([request("ping"), {"jsonrpc": "2.0", "method": "notifications/progress"}]),
        ] {
            assert_eq!(read(&message), FromClient::Passes, "{message}");
        }
    }

    #[test]
    fn a_call_is_never_taken_for_something_that_passes() {
        let FromClient::Calls { id, call } = read(&request("tools/call")) else {
            panic!("a call");
        };
        assert_eq!((id.to_json(), call.tool.as_str()), (json!(1), "a"));
        let code = |message: &Value| match read(message) {
            FromClient::Refused { answer, .. } => {
                answer.map(|answer| answer["error"]["code"].clone())
            }
            other => panic!("{message}: {other:?}"),
        };
        let mut nameless = request("tools/call");
        nameless["params"] = json!({});
        let mut null = request("tools/call");
        null["id"] = json!(null);
        let mut fraction = request("tools/call");
        fraction["id"] = json!(1.5);
        let mut both = request("tools/call");
        both["result"] = json!({});
        let mut old = request("tools/call");
        old["jsonrpc"] = json!("1.0");
        let mut list = request("tools/call");
        list["params"] = json!(["a"]);
        for (message, expected) in [
            (request("tools/execute"), json!(NOT_ALLOWED)),
            (request("Tools/call"), json!(NOT_ALLOWED)),
            (nameless, json!(INVALID_PARAMS)),
            (null, json!(INVALID_REQUEST)),
            (fraction, json!(INVALID_REQUEST)),
            (both, json!(INVALID_REQUEST)),
            (old, json!(INVALID_REQUEST)),
            (list, json!(INVALID_REQUEST)),
            (json!("tools/call"), json!(INVALID_REQUEST)),
            (json!([]), json!(INVALID_REQUEST)),
        ] {
            assert_eq!(code(&message), Some(expected), "{message}");
        }
        let without_id = json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "a"}});
        assert_eq!(code(&without_id), None);
        let twice = br#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#;
        let FromClient::Refused { answer, .. } = FromClient::read(twice) else {
            panic!("refused");
        };
        assert_eq!(answer.expect("an answer")["error"]["code"], PARSE_ERROR);
    }

    #[test]
    fn a_call_in_a_batch_is_refused_and_everybody_who_waits_is_told() {
        let mut other = request("ping");
        other["id"] = json!("b");
        let batch = json!([request("tools/call"), other]);
        let FromClient::Refused { answer, .. } = read(&batch) else {
            panic!("refused");
        };
        let answer = answer.expect("an answer");
        let ids: Vec<&Value> = answer.as_array().expect("a batch").iter().collect();
        let ids: Vec<Value> = ids.iter().map(|one| one["id"].clone()).collect();
        assert_eq!(ids, [json!(1), json!("b")]);
    }

    #[test]
    fn a_client_says_who_it_is_and_what_it_gives_up() {
        let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "editor"}}});
        let expected = FromClient::Begins {
            protocol_version: Some("2025-11-25".to_owned()),
            client_name: Some("editor".to_owned()),
        };
        assert_eq!(read(&begin), expected);
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        let id = RequestId::of(&json!(7)).expect("an id");
        assert_eq!(read(&cancel), FromClient::Cancels { id });
    }
}
