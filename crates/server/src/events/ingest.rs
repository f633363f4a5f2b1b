//! `POST /v1/audit/events`: checks a batch and appends it; 202 means the journal has it.

use axum::{
    body::Body,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use domain::{
    EventId, Timestamp,
    account::Agents,
    batch::{self, Batch},
    error_code::ErrorCode,
    event::accept::{Arrival, check_agent},
    fault::Fault,
    idempotency::{RequestName, fingerprint},
};
use journal::dedup::RequestMark;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    edge::{
        Caller, Problem,
        caller::EventsWrite,
        enums::BodyEncoding,
        events_body::EventsBody,
        idempotency_key::{IdempotencyKey, REPLAYED},
        problem::FaultBody,
    },
    events::{
        ingest_params::IngestParams,
        schema::{CloudEvent, EventsOrOne},
        validate::{Tails, Validated, validate},
    },
    planes::DataPlane,
    telemetry::metrics as names,
};

/// What an accepted event takes in the answer.
const ANSWER_BYTES_PER_EVENT: usize = 40;

/// The result of a batch.
#[derive(Serialize, ToSchema)]
pub struct Ingested {
    /// How many events were accepted; they are durable.
    ingested: usize,
    /// The accepted events, in the order they were sent.
    events: Vec<IngestedEvent>,
    /// The other events, and what is wrong with each.
    rejected: Vec<Rejected>,
}

#[derive(Serialize, ToSchema)]
pub struct IngestedEvent {
    #[schema(value_type = String, example = "evt_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: EventId,
}

#[derive(Serialize, ToSchema)]
pub struct Rejected {
    /// The event's position in the batch, starting at 0.
    index: usize,
    #[serde(flatten)]
    #[schema(value_type = FaultBody)]
    fault: Fault,
}

/// Records audit events.
///
/// One request carries up to 1,000 events and 5 MiB, uncompressed or compressed with gzip or zstd. A bad event does not
/// sink its batch: the good ones are accepted, and the bad ones are returned in `rejected`. If none is good, or with
/// `atomic=true` if one is bad, the response is 422 and nothing is recorded. A 202 means the accepted events are
/// durable.
#[utoipa::path(
    post, path = "/v1/audit/events", tag = "events", security(("api_key" = ["events:write"])),
    params(
        IngestParams,
        ("Idempotency-Key" = Option<String>, Header, description = "A unique key for this request: up to 128 printable ASCII characters. If the same API key sends the request again with the same key within 24 hours, it gets the same response, and its events are listed and raise alerts only once; with a different body it is refused (`IDEMPOTENCY_MISMATCH`)"),
        ("Content-Encoding" = Option<BodyEncoding>, Header, description = "`gzip`, `zstd` or `identity`"),
    ),
    request_body(
        content(
            (EventsOrOne = "application/json"),
            (String = "application/x-ndjson"),
            (CloudEvent = "application/cloudevents+json"),
            (Vec<CloudEvent> = "application/cloudevents-batch+json"),
        ),
        description = "`{\"events\": [...]}` or one bare event; one event per line (also `application/ndjson` and `application/jsonl`); CloudEvents 1.0 whose `data` is the event",
    ),
    responses(
        (status = 202, description = "Accepted and durable", body = Ingested, headers(
            ("Idempotency-Replayed" = Option<bool>, description = "`true` if a request with this `Idempotency-Key` was already received"),
        )),
    ),
)]
pub async fn ingest(
    State(plane): State<DataPlane>,
    caller: Caller<EventsWrite>,
    params: IngestParams,
    key: IdempotencyKey,
    body: EventsBody,
) -> Result<Response, Problem> {
    let name = key.name(&caller)?;
    let batch = body.work(|| batch::parse(body.form, &body.bytes));
    let mut batch = batch.map_err(|reason| unreadable(&reason))?;
    reject_foreign(caller.agents(), &mut batch);
    let arrival = Arrival {
        org: caller.org,
        source: caller.source(),
        received_at: plane.clock.now(),
        retention: plane.retention,
    };
    // Before it leaves a mark: it has to be sent again.
    let bytes = body.bytes.len() as u64;
    let budget = &plane.budget;
    budget.spend_on_events(caller.org, bytes, arrival.received_at)?;
    let (judged, is_replayed) = match &name {
        None => {
            let tails = Tails::random(batch.events.len());
            (body.work(|| validate(&batch, &arrival, &tails)), false)
        }
        Some(name) => judge_named(&plane, name, &body, &batch, arrival, params).await?,
    };
    metrics::counter!(names::EVENTS_REJECTED).increment(judged.rejected.len() as u64);
    if params.refuses(&judged) {
        return Err(refusal(&batch, judged.rejected));
    }
    plane.append(caller.org, judged.frames).await?;
    Ok(answer(judged.accepted, judged.rejected, is_replayed))
}

/// Judges a request that has a name as it was judged when it came first; whether it did come before.
///
/// A request of which nothing is recorded leaves no mark, so that it can be mended and sent again under
/// its name. One that was marked is appended again, because whoever marked it may have died before it
/// was appended; its events have the same ids and bytes, so all who read them see them once.
async fn judge_named(
    plane: &DataPlane,
    name: &RequestName,
    body: &EventsBody,
    batch: &Batch<'_>,
    arrival: Arrival,
    params: IngestParams,
) -> Result<(Validated, bool), Problem> {
    let judge_at = |received_at: Timestamp| {
        let arrival = Arrival {
            received_at,
            ..arrival
        };
        body.work(|| validate(batch, &arrival, &Tails::Of(name)))
    };
    let judged = judge_at(arrival.received_at);
    let mark = RequestMark {
        fingerprint: body.work(|| fingerprint(body.form, params.is_atomic, &body.bytes)),
        received_at: arrival.received_at,
    };
    let before = if params.refuses(&judged) {
        plane.journal.request_mark(name).await?
    } else {
        plane.journal.mark_request(name, &mark).await?
    };
    match before {
        None => Ok((judged, false)),
        Some(before) if before.fingerprint == mark.fingerprint => {
            Ok((judge_at(before.received_at), true))
        }
        Some(_) => Err(Problem::new(
            ErrorCode::IdempotencyMismatch,
            "This `Idempotency-Key` was already used with a different body, `Content-Type` or \
             `atomic`.",
        )),
    }
}

/// Rejects the events of agents that the key does not speak for, and no others: what one agent says must not keep
/// the rest of its batch out of the trail.
fn reject_foreign(agents: &Agents, batch: &mut Batch<'_>) {
    for event in &mut batch.events {
        let sent = event.as_ref().ok();
        if let Some(fault) = sent.and_then(|sent| check_agent(sent, agents).err()) {
            *event = Err(fault);
        }
    }
}

fn unreadable(reason: &batch::Unreadable) -> Problem {
    let code = match reason {
        batch::Unreadable::TooMany { .. } => ErrorCode::PayloadTooLarge,
        _ => ErrorCode::InvalidBody,
    };
    Problem::new(code, reason.to_string())
}

/// Everything that is wrong with the batch, pointed at in the body that was sent.
fn refusal(batch: &Batch<'_>, rejected: Vec<(usize, Fault)>) -> Problem {
    let in_body = |(index, fault): (usize, Fault)| fault.under(&batch.pointer_to(index));
    Problem::invalid(rejected.into_iter().map(in_body).collect())
}

fn answer(accepted: Vec<EventId>, rejected: Vec<(usize, Fault)>, is_replayed: bool) -> Response {
    let mut json = Vec::with_capacity(64 + ANSWER_BYTES_PER_EVENT * accepted.len());
    let ingested = Ingested {
        ingested: accepted.len(),
        events: accepted
            .into_iter()
            .map(|id| IngestedEvent { id })
            .collect(),
        rejected: rejected
            .into_iter()
            .map(|(index, fault)| Rejected { index, fault })
            .collect(),
    };
    serde_json::to_writer(&mut json, &ingested).expect("plain fields always encode");
    let mut response = Response::new(Body::from(json));
    *response.status_mut() = StatusCode::ACCEPTED;
    let headers = response.headers_mut();
    let is_json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, is_json);
    if is_replayed {
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}
