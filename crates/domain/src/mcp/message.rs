//! A message of JSON-RPC 2.0, as MCP narrows it: an id is a text or a whole number, and parameters are an object.

use std::fmt;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use super::json::{Unreadable, misspelled};

const VERSION: &str = "2.0";
/// What is read of a message, of its parameters and of its result. In another case each is another member to us, and the same
/// one to some servers and clients.
const MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
const PARAMETERS: [&str; 7] = [
    "name",
    "arguments",
    "_meta",
    "cursor",
    "requestId",
    "protocolVersion",
    "clientInfo",
];
const RESULTS: [&str; 4] = ["tools", "nextCursor", "isError", "resultType"];
/// The longest id: clients count, or make UUIDs.
const ID_BYTES_MAX: usize = 256;

/// Names a request, as long as it is not answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(Id);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Id {
    Text(String),
    Signed(i64),
    /// Beyond what is signed.
    Large(u64),
}

impl RequestId {
    /// A number with a fraction is none, as `1.0` may come back as `1`.
    pub fn of(value: &Value) -> Option<Self> {
        let id = match value {
            Value::String(text) if text.len() <= ID_BYTES_MAX => Id::Text(text.clone()),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Id::Signed(whole),
                None => Id::Large(number.as_u64()?),
            },
            _ => return None,
        };
        Some(Self(id))
    }

    /// The id of a request that cannot be read otherwise: somebody waits for its answer.
    pub(super) fn of_unreadable_request(bytes: &[u8]) -> Option<Self> {
        Named::read(bytes)?.id()
    }

    /// The id of an answer that cannot be read otherwise.
    pub(super) fn of_unreadable_answer(bytes: &[u8]) -> Option<Self> {
        Named::read(bytes)
            .filter(|named| named.method.is_none())?
            .id()
    }

    pub fn to_json(&self) -> Value {
        match &self.0 {
            Id::Text(text) => text.as_str().into(),
            Id::Signed(whole) => (*whole).into(),
            Id::Large(whole) => (*whole).into(),
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

/// As much of a message as can be read of many that cannot be read.
#[derive(Deserialize)]
struct Named {
    id: Value,
    method: Option<IgnoredAny>,
}

impl Named {
    fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    fn id(&self) -> Option<RequestId> {
        RequestId::of(&self.id)
    }
}

#[derive(Debug)]
pub(super) enum Message {
    Request {
        id: RequestId,
        method: String,
        params: Map<String, Value>,
    },
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    Response {
        /// None where the request could not be read.
        id: Option<RequestId>,
        content: Content,
    },
}

#[derive(Debug)]
pub(super) enum Content {
    Result(Value),
    Error(Value),
}

impl Message {
    pub(super) fn of(value: Value) -> Result<Self, Unreadable> {
        let Value::Object(mut object) = value else {
            return Err(Unreadable::new("a message is an object"));
        };
        spelled(&object, &MEMBERS)?;
        if object.get("jsonrpc").and_then(Value::as_str) != Some(VERSION) {
            return Err(Unreadable::new("`jsonrpc` must be \"2.0\""));
        }
        let id = match object.remove("id") {
            None => None,
            Some(Value::Null) => Some(None),
            Some(id) => {
                let id = RequestId::of(&id);
                Some(Some(id.ok_or_else(|| {
                    Unreadable::new("an id is a text or a whole number")
                })?))
            }
        };
        let parts = (
            object.remove("method"),
            object.remove("result"),
            object.remove("error"),
        );
        match parts {
            (Some(Value::String(method)), None, None) => {
                let params = match object.remove("params") {
                    None => Map::new(),
                    Some(Value::Object(params)) => params,
                    Some(_) => return Err(Unreadable::new("`params` must be an object")),
                };
                spelled(&params, &PARAMETERS)?;
                match id {
                    Some(Some(id)) => Ok(Self::Request { id, method, params }),
                    None => Ok(Self::Notification { method, params }),
                    Some(None) => Err(Unreadable::new("the id of a request is not null")),
                }
            }
            (None, Some(result), None) => {
                if let Value::Object(result) = &result {
                    spelled(result, &RESULTS)?;
                }
                match id {
                    Some(Some(id)) => Ok(Self::Response {
                        id: Some(id),
                        content: Content::Result(result),
                    }),
                    _ => Err(Unreadable::new("a result has an id")),
                }
            }
            (None, None, Some(error)) => Ok(Self::Response {
                id: id.flatten(),
                content: Content::Error(error),
            }),
            _ => Err(Unreadable::new(
                "a message has either a `method`, a `result` or an `error`",
            )),
        }
    }
}

fn spelled(object: &Map<String, Value>, names: &[&str]) -> Result<(), Unreadable> {
    match misspelled(object, names) {
        None => Ok(()),
        Some(_) => Err(Unreadable::new(
            "a member is known by its name in another case",
        )),
    }
}
