//! What a client sends, and what a guard does with it.

use serde_json::{Map, Value};

use super::{
    ToolCall,
    answer::{self, INVALID_PARAMS, INVALID_REQUEST, NOT_ALLOWED, PARSE_ERROR},
    json::{self, SameName},
    message::{Message, RequestId},
    methods::{CANCELED, INITIALIZE, TOOLS_CALL, TOOLS_LIST, is_notification, passes},
};
use crate::event::sanitize;

/// The longest name of a client that is looked at.
const NAME_CHARS_MAX: usize = 128;
/// How many requests may be in a batch.
const BATCH_MAX: usize = 100;

/// A message of a client.
#[derive(Debug, PartialEq)]
pub enum FromClient {
    /// It passes unchanged, and so do the answers to these requests in it.
    Passes { requests: Vec<RequestId> },
    /// A tool is to be called: it passes if that is allowed.
    Calls { id: RequestId, call: ToolCall },
    /// It passes, and the answer will say which tools there are: from the first one on, or more of them.
    Lists { id: RequestId, is_first: bool },
    /// It passes, and a request is given up.
    Cancels { id: RequestId },
    /// It passes, and says who the client is.
    Begins {
        id: RequestId,
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
    match Message::of(json::read(bytes, SameName::InAnyCase).ok()?).ok()? {
        Message::Request { method, .. } | Message::Notification { method, .. } => Some(method),
        Message::Response { .. } => None,
    }
}

impl FromClient {
    pub fn read(bytes: &[u8]) -> Self {
        let (error, code, why) = match json::read(bytes, SameName::InAnyCase) {
            Ok(Value::Array(batch)) => return Self::of_batch(batch),
            Ok(value) => match Message::of(value) {
                Ok(message) => return Self::of(message),
                Err(error) => (
                    error,
                    INVALID_REQUEST,
                    "it is not a message of JSON-RPC 2.0 that has one meaning",
                ),
            },
            Err(error) => (error, PARSE_ERROR, "it is not JSON that has one meaning"),
        };
        let id = RequestId::of_unreadable_request(bytes);
        Self::Refused {
            answer: Some(answer::error(id.as_ref(), code, &error.to_string())),
            why,
        }
    }

    fn passes(requests: impl IntoIterator<Item = RequestId>) -> Self {
        Self::Passes {
            requests: requests.into_iter().collect(),
        }
    }

    fn of(message: Message) -> Self {
        match message {
            Message::Request { id, method, params } => Self::of_request(id, &method, &params),
            Message::Notification { method, params } if method == CANCELED => {
                match params.get("requestId").and_then(RequestId::of) {
                    Some(id) => Self::Cancels { id },
                    None => Self::passes(None),
                }
            }
            Message::Notification { method, .. } if is_notification(&method) => Self::passes(None),
            // A server that does not insist on an id would call the tool.
            Message::Notification { .. } => Self::Refused {
                answer: None,
                why: "it is a request without an id",
            },
            Message::Response { .. } => Self::passes(None),
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
                    id,
                    protocol_version: text(params.get("protocolVersion")),
                    client_name: text(client.and_then(|client| client.get("name"))),
                }
            }
            method if passes(method) => Self::passes([id]),
            _ => {
                let why = "the guard does not know this method";
                Self::Refused {
                    answer: Some(answer::error(Some(&id), NOT_ALLOWED, why)),
                    why,
                }
            }
        }
    }

    /// Several messages in one were allowed in 2025-03-26 alone. They pass if each of them would and means nothing else to the
    /// guard; a call must come by itself, because its answer may come later than the others.
    fn of_batch(batch: Vec<Value>) -> Self {
        let why = "a batch cannot hold `initialize`, a call, a list of tools or a cancellation; send them one by one";
        let mut requests = Vec::new();
        let mut is_passing = !batch.is_empty();
        for value in batch {
            let message = Message::of(value);
            if let Ok(Message::Request { id, .. }) = &message {
                is_passing &= !requests.contains(id);
                requests.push(id.clone());
            }
            let is_one = |message| matches!(Self::of(message), Self::Passes { .. });
            is_passing &= message.is_ok_and(is_one);
            // Whoever looks for an id among so many would take long.
            is_passing &= requests.len() <= BATCH_MAX;
            requests.truncate(BATCH_MAX + 1);
        }
        if is_passing {
            return Self::passes(requests);
        }
        let errors = requests
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
            let first = message.get(0).unwrap_or(&message);
            let is_request = first.get("method").is_some();
            let id = RequestId::of(&first["id"]).filter(|_| is_request);
            assert_eq!(read(&message), FromClient::passes(id), "{message}");
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
        let in_another_case = |name: &str| {
            let mut message = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
            message[name] = json!("tools/call");
            message
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
            (in_another_case("Method"), json!(INVALID_REQUEST)),
            (in_another_case("param\u{17f}"), json!(INVALID_REQUEST)),
        ] {
            assert_eq!(code(&message), Some(expected), "{message}");
        }
        let mut hidden = request("tools/call");
        hidden["params"]["Arguments"] = json!({"path": "/etc/passwd"});
        assert_eq!(code(&hidden), Some(json!(INVALID_REQUEST)));
        let without_id = json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "a"}});
        assert_eq!(code(&without_id), None);
        for twice in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"k":1,"K":2}}}"#,
        ] {
            let FromClient::Refused { answer, .. } = FromClient::read(twice.as_bytes()) else {
                panic!("refused");
            };
            assert_eq!(answer.expect("an answer")["error"]["code"], PARSE_ERROR);
        }
    }

    #[test]
    fn who_sends_what_cannot_be_read_is_told_if_it_can_be_read_who_that_is() {
        for (message, id) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#,
                json!(7),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1,"a":2}}"#,
                json!(7),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#,
                json!(null),
            ),
            ("{", json!(null)),
        ] {
            let FromClient::Refused { answer, .. } = FromClient::read(message.as_bytes()) else {
                panic!("refused");
            };
            assert_eq!(answer.expect("an answer")["id"], id, "{message}");
        }
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
            id: RequestId::of(&json!(0)).expect("an id"),
            protocol_version: Some("2025-11-25".to_owned()),
            client_name: Some("editor".to_owned()),
        };
        assert_eq!(read(&begin), expected);
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        let id = RequestId::of(&json!(7)).expect("an id");
        assert_eq!(read(&cancel), FromClient::Cancels { id });
    }
}
