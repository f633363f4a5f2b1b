//! `POST /v1/audit/events`: checks a batch and appends it; 202 means the journal has it.

use axum::{Json, extract::State, http::StatusCode};
use domain::{
    EventId, batch,
    error_code::ErrorCode,
    event::{self, accept::Arrival},
    fault::Fault,
};
use journal::record::{self, EventRecord};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    chance,
    edge::{
        Caller, Problem,
        caller::EventsWrite,
        problem::{FaultBody, ProblemBody},
        read::JsonBytes,
    },
    events::schema::EventsOrOne,
    planes::DataPlane,
    telemetry::metrics as names,
};

/// What became of a batch.
#[derive(Serialize, ToSchema)]
pub struct Ingested {
    /// How many events were accepted; they are durable.
    ingested: usize,
    /// The accepted events, in the order sent.
    events: Vec<IngestedEvent>,
    /// The others, and what is wrong with each.
    rejected: Vec<Rejected>,
}

#[derive(Serialize, ToSchema)]
pub struct IngestedEvent {
    #[schema(value_type = String, example = "evt_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: EventId,
}

#[derive(Serialize, ToSchema)]
pub struct Rejected {
    /// The event's place in the batch, from 0.
    index: usize,
    #[serde(flatten)]
    #[schema(value_type = FaultBody)]
    fault: Fault,
}

/// Records audit events.
///
/// One request carries up to 1,000 events as `{"events": [...]}`, or one bare event. A bad event
/// does not sink its batch: the good ones are accepted, the bad ones come back in `rejected`. If
/// none is good the answer is 422. A 202 means the accepted events are durable.
#[utoipa::path(
    post, path = "/v1/audit/events", tag = "events", security(("api_key" = ["events:write"])),
    request_body(content = EventsOrOne, description = "`{\"events\": [...]}`, or one bare event"),
    responses(
        (status = 202, description = "Accepted and durable", body = Ingested),
        (status = "4XX", description = "Refused", body = ProblemBody, content_type = "application/problem+json"),
        (status = 503, description = "Not promised; send it again", body = ProblemBody, content_type = "application/problem+json"),
    ),
)]
pub async fn ingest(
    State(plane): State<DataPlane>,
    caller: Caller<EventsWrite>,
    JsonBytes(body): JsonBytes,
) -> Result<(StatusCode, Json<Ingested>), Problem> {
    let sent = batch::parse(&body).map_err(|unreadable| match unreadable {
        batch::Unreadable::TooMany { .. } => {
            Problem::new(ErrorCode::PayloadTooLarge, unreadable.to_string())
        }
        _ => Problem::new(ErrorCode::InvalidBody, unreadable.to_string()),
    })?;
    let received_at = plane.clock.now();
    let arrival = Arrival {
        org: caller.org,
        received_at,
        retention: plane.retention,
    };
    let (mut events, mut rejected, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    for (index, raw) in sent.events.iter().enumerate() {
        match event::accept(raw, arrival, chance::bytes()) {
            Ok(accepted) => {
                let record = EventRecord {
                    org: caller.org,
                    id: accepted.id,
                    received_at,
                    json: &accepted.json,
                };
                frames.push(record::frame(&record));
                events.push(IngestedEvent { id: accepted.id });
            }
            Err(fault) => rejected.push(Rejected { index, fault }),
        }
    }
    metrics::counter!(names::EVENTS_REJECTED).increment(rejected.len() as u64);
    if events.is_empty() {
        let in_body = |Rejected { index, fault }| Fault {
            pointer: sent.pointer_to(index) + &fault.pointer,
            ..fault
        };
        return Err(Problem::invalid(
            rejected.into_iter().map(in_body).collect(),
        ));
    }
    plane.append(caller.org, frames).await?;
    Ok((
        StatusCode::ACCEPTED,
        Json(Ingested {
            ingested: events.len(),
            events,
            rejected,
        }),
    ))
}
