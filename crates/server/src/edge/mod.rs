//! The edge: what every request passes on its way in and out, whoever handles it.
//!
//! [`envelope`] is the outermost layer: it names the request, times it, and writes every error, also
//! the web framework's own, as a [`problem`], or for a person who looks with a browser as an [`error_page`] in [`html`]. [`identity`] tells who is there, from an API key or a
//! [`session_cookie`], and [`known_browser`] whether somebody was let in with the same browser before; [`caller`] makes an argument of it: a handler that takes a `Caller` has one
//! that was checked, and [`recheck_auth`] tells later whether that still holds. [`rate_limit`] counts
//! requests against their [`quotas`], by who is there or by [`client_address`].
//! [`byte_budget`] counts the bytes of events and questions. [`operators`] are those who run the deployment.
//! [`cross_site`] refuses what a browser sends for another site's page. [`no_store`] keeps answers
//! out of caches. [`compress`] packs those that are named, in the form that a client [likes best](accept_encoding). [`extract`] reads bodies, for which there is so much [`body_memory`], and parameters, [`events_body`] those of events, which may be
//! [packed](decompress), [`strict_json`] those of rules and policies, where nothing may be said twice, [`objects`] what has fields, and [`missing_fields`] says what a body lacks.
//! [`sse`] sends answers that go on, and [`slots`] bounds how many long answers there are. [`idempotency_key`] is the name of a request that may be sent again, [`idempotent_request`] when it came first, [`if_match`] the
//! version that a change is meant for. [`enums`] tells the API document what texts there are.

pub mod accept_encoding;
mod body_memory;
pub mod byte_budget;
pub mod caller;
pub mod client_address;
pub mod compress;
pub mod cross_site;
mod decompress;
pub mod enums;
pub mod envelope;
pub mod error_page;
pub mod events_body;
pub mod extract;
pub mod html;
pub mod idempotency_key;
pub mod idempotent_request;
pub mod identity;
pub mod if_match;
pub mod known_browser;
mod missing_fields;
pub mod no_store;
mod objects;
pub mod operators;
pub mod problem;
pub mod quotas;
pub mod rate_limit;
pub mod recheck_auth;
pub mod session_cookie;
pub mod slots;
pub mod sse;
pub mod strict_json;

pub use caller::Caller;
pub use problem::Problem;
