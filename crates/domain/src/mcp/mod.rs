//! The Model Context Protocol, as far as a guard between a client and a server must understand it. Pure, and for input that
//! nobody vouches for.
//!
//! A guard looks at each message ([`FromClient`], [`FromServer`]) and passes on the bytes that it was sent. What two readers could
//! understand differently ([`json`]) does not pass. Only calls of tools are decided about ([`ToolCall`]), so what passes besides
//! them is listed, and not what is held up: a method that nobody knew when this was written ([`methods`]) may call a tool, too.
//!
//! | file | what |
//! |---|---|
//! | `json` | JSON that has one meaning |
//! | `message` | requests, notifications and responses |
//! | `methods` | which of them pass |
//! | `from_client`, `from_server` | what a message is to the guard |
//! | `call` | a call of a tool, and what came of it |
//! | `answer` | what a client is answered in the server's place |
//! | `sse` | answers as server-sent events |
//! | `tools` | the tools that a server offers |

pub mod answer;
mod call;
mod from_client;
mod from_server;
mod json;
mod message;
mod methods;
pub mod sse;
mod tools;

pub use call::{Outcome, ToolCall, Trace, with_arguments};
pub use from_client::{FromClient, method_of};
pub use from_server::{Answered, FromServer};
pub use json::{DEPTH_MAX, Unreadable};
pub use message::RequestId;
pub use tools::{Tools, without_tools};

/// The longest message. Results carry pictures and files in Base64; a model reads no more of them than this.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
