//! What a client is answered in the server's place.

use serde_json::{Value, json};

use super::message::RequestId;

/// The message is not JSON (JSON-RPC 2.0).
pub const PARSE_ERROR: i32 = -32700;
/// It is JSON, and no message (JSON-RPC 2.0).
pub const INVALID_REQUEST: i32 = -32600;
/// Its parameters are wrong (JSON-RPC 2.0).
pub const INVALID_PARAMS: i32 = -32602;
/// It is denied (COAZ-MCP).
pub const NOT_ALLOWED: i32 = -32001;
/// Nobody could say whether it is (COAZ-MCP).
pub const UNDECIDED: i32 = -32603;
/// The headers of a request say something else than its body (MCP 2026-07-28).
pub const HEADER_MISMATCH: i32 = -32020;

/// The longest text that is answered: a model reads it, and pays for it.
const TEXT_CHARS_MAX: usize = 1000;

/// An error, which programs read.
pub fn error(id: Option<&RequestId>, code: i32, message: &str) -> Value {
    let id = id.map_or(Value::Null, RequestId::to_json);
    let message: String = message.chars().take(TEXT_CHARS_MAX).collect();
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The result of a call that was not made, which the model reads.
pub fn not_called(id: &RequestId, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.to_json(), "result": not_called_result(text)})
}

/// The same without the message around it. Of these members, each revision knows some and ignores the others.
pub fn not_called_result(text: &str) -> Value {
    let text: String = text.chars().take(TEXT_CHARS_MAX).collect();
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": true})
}
