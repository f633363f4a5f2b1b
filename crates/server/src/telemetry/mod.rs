//! What an operator sees: logs, metrics, traces.

pub mod logs;
pub mod metrics;
