//! The metrics of this crate, named once.

use std::{error::Error, fmt::Display};

runtime::metrics! {
    EVENTS_INGESTED, Counter "watchbell_events_ingested_total" []
        "Events the journal has acknowledged";
    RECORDS_UNREADABLE, Counter "watchbell_records_unreadable_total" ["log"]
        "Records nobody could read; each is also an error in the log";
}

/// A record that nobody can read: an alarm in the log and in the metrics.
pub fn unreadable(log: &'static str, place: impl Display, error: &dyn Error) {
    tracing::error!(log, %place, %error, "a record cannot be read, skipped");
    ::metrics::counter!(RECORDS_UNREADABLE, "log" => log).increment(1);
}
