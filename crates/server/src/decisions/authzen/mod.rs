//! Decisions in the words of a standard: the Authorization API 1.0 of the OpenID AuthZEN working group.
//!
//! A policy enforcement point that speaks it needs nothing of ours. It asks one question ([`evaluate`]) or a
//! [`batch`], in the shapes of [`request`]; [`metadata`] says where, and `coaz` knows how MCP gateways ask. What the standard demands differently from
//! the rest of our API is in this folder: fields that nobody knows are ignored, what is malformed is 400
//! whatever is wrong with it, and `X-Request-ID` comes back as it was given ([`request_id`]).

pub mod batch;
mod coaz;
pub mod evaluate;
pub mod metadata;
pub mod request;
pub mod request_id;
