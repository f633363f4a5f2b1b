//! Sends webhooks.
//!
//! - `sender`: makes one attempt, within one deadline; all others serve it.
//! - `sent`: what an attempt came to.
//! - `target`: where a webhook may go, as far as its URL tells.
//! - `address`: which addresses are public.
//! - `resolve`: finds the addresses behind a name and hands out those that may be sent to.
//! - `connect`: makes a connection to one of them, and secures it.
//! - `connection`: a connection and what is known of it.
//! - `head`: the headers of a request.
//! - `signing`: its signatures.
//! - `request`: the request, and when it was handed over.
//! - `answer`: how much of an answer is read and kept.
//! - `trouble`: why there was none.

pub mod address;
mod answer;
mod attempt_result;
mod connect;
mod connection;
mod error;
pub mod headers;
mod request;
mod resolve;
mod sender;
pub mod signing;
pub mod target;

pub use attempt_result::Sent;
pub use sender::Sender;
