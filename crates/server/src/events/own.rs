//! Events of our own: what Watchbell did for somebody is in their trail like what agents do.

use domain::{
    EventId,
    event::{self, accept::Arrival},
    fault::Fault,
};
use journal::record::{self, EventRecord};
use serde::Serialize;
use serde_json::value::to_raw_value;

use crate::{chance, planes::Appenders};

/// Why an event was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum Unrecorded {
    #[error("write the event")]
    Unwritable(#[from] serde_json::Error),
    /// It is not an event that we would take from a client.
    #[error("{}: {}", .0.pointer, .0.detail)]
    Invalid(Fault),
    #[error(transparent)]
    Journal(#[from] journal::Error),
}

/// Makes an event durable, by the checks that every event passes; returns once the journal has it.
pub async fn record(
    events: &Appenders,
    arrival: Arrival,
    event: &impl Serialize,
) -> Result<EventId, Unrecorded> {
    let raw = to_raw_value(event)?;
    let accepted = event::accept(&raw, arrival, chance::bytes()).map_err(Unrecorded::Invalid)?;
    let record = EventRecord {
        org: arrival.org,
        id: accepted.id,
        received_at: arrival.received_at,
        json: &accepted.json,
    };
    events
        .append_events(arrival.org, vec![record::frame(&record)])
        .await?;
    Ok(accepted.id)
}
