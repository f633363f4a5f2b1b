//! What an operator sees: logs, metrics, traces.

pub mod logs;
pub mod metrics;

/// A record that nobody can read: an alarm in the log and in the metrics.
pub(crate) fn unreadable(
    log: &'static str,
    place: impl std::fmt::Display,
    error: &dyn std::error::Error,
) {
    tracing::error!(log, %place, %error, "a record cannot be read, skipped");
    ::metrics::counter!(metrics::RECORDS_UNREADABLE, "log" => log).increment(1);
}
