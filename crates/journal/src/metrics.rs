//! The metrics of this crate, named once.

use std::{error::Error, fmt::Display};

runtime::metrics! {
    EVENTS_INGESTED, Counter "watchbell_events_ingested_total" []
        "Events acknowledged by the journal";
    RECORDS_UNREADABLE, Counter "watchbell_records_unreadable_total" ["log"]
        "Records that could not be read; each is also logged as an error";
}

/// A record that nobody can read: an alarm in the log and in the metrics.
pub fn unreadable(log: &'static str, place: impl Display, error: &dyn Error) {
    tracing::error!(log, %place, %error, "skipped an unreadable record");
    ::metrics::counter!(RECORDS_UNREADABLE, "log" => log).increment(1);
}
