//! The OpenAPI document: generated from the handlers, committed, and checked in CI.
//!
//! [`document`] lists the operations. [`operation_ids`] names them, [`webhooks`] describes what we send, and [`errors`]
//! says which error codes each operation can answer: most follow from what it takes, and [`own_errors`] has the rest.
//! In debug builds [`check`] refuses an answer that the document does not have, so a test that provokes one fails.

#[cfg(debug_assertions)]
pub mod check;
mod document;
mod errors;
mod operation_ids;
mod own_errors;
mod webhooks;

pub use document::{document, serve};
