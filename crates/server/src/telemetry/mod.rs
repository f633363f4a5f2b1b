//! What an operator sees: logs, metrics, traces.

pub mod answered;
pub mod in_request;
pub mod logs;
pub mod metrics;
