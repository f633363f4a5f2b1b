//! Events of our own: what Watchbell did for somebody is in their trail like what agents do.

use domain::{
    EventId,
    event::{self, Sent, accept::Arrival, own},
    fault::Fault,
    id::Tail,
};
use runtime::random;
use serde::Serialize;
use serde_json::value::to_raw_value;

use crate::{Error, appenders::Appenders, frames::Frames, record::EventRecord};

/// Why an event was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum Unrecorded {
    /// It is not an event that we would take from a client.
    #[error(transparent)]
    Invalid(#[from] Fault),
    #[error(transparent)]
    Journal(#[from] Error),
}

/// Makes an event durable; each time it is another one.
pub async fn record(
    events: &Appenders,
    arrival: &Arrival,
    event: &impl Serialize,
) -> Result<EventId, Unrecorded> {
    record_as(Tail::Random(random::bytes()), events, arrival, event).await
}

/// Makes an event durable whose id follows from `tail`; returns once the journal has it.
pub async fn record_as(
    tail: Tail,
    events: &Appenders,
    arrival: &Arrival,
    event: &impl Serialize,
) -> Result<EventId, Unrecorded> {
    let mut frames = Frames::default();
    let id = write(&mut frames, tail, arrival, event)?;
    events.append_events(arrival.org, frames).await?;
    Ok(id)
}

/// The same for work of ours that goes on until it is done: waits for room in the journal.
pub async fn record_patiently(
    tail: Tail,
    events: &Appenders,
    arrival: &Arrival,
    event: &impl Serialize,
) -> Result<EventId, Unrecorded> {
    let mut frames = Frames::default();
    let id = write(&mut frames, tail, arrival, event)?;
    let appender = events.of(arrival.org);
    appender.append_patiently(frames).await?;
    Ok(id)
}

/// Adds an event as the journal has it, by the checks that every event passes.
pub fn write(
    frames: &mut Frames,
    tail: Tail,
    arrival: &Arrival,
    event: &impl Serialize,
) -> Result<EventId, Fault> {
    let raw = to_raw_value(event)
        .map_err(|error| Fault::invalid("", format!("This cannot be recorded: {error}.")))?;
    let sent = Sent::bare(raw.get());
    let mut json = String::new();
    let id = event::accept(&sent, arrival, tail, &mut json)?;
    frames.push(&EventRecord {
        org: arrival.org,
        id,
        received_at: arrival.received_at,
        json: &json,
    });
    Ok(id)
}

/// The same of an event whose author has seen to it that it is one: it is not read again. It has about so many bytes.
pub fn write_unread(
    frames: &mut Frames,
    tail: Tail,
    arrival: &Arrival,
    event: &impl Serialize,
    bytes: usize,
) -> EventId {
    let (id, json) = own::written(event, arrival, tail, bytes);
    frames.push(&EventRecord {
        org: arrival.org,
        id,
        received_at: arrival.received_at,
        json: &json,
    });
    id
}
