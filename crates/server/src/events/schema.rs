//! An audit event as the API document describes it; a test holds it against what is really read.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::edge::words::Severity;

/// An audit event to be recorded. Unknown fields are refused; put them under `metadata`.
#[derive(Serialize, ToSchema)]
pub struct NewEvent {
    /// A name of a-z, 0-9 and `_`, at most 64; an open set, but that those of the server's own events are reserved.
    #[schema(example = "tool_call")]
    event_type: String,
    /// 1 to 128 characters.
    #[schema(example = "billing-agent")]
    agent_id: String,
    /// A dotted name of two or more segments, at most 128 characters.
    #[schema(example = "payments.refund")]
    action: String,
    /// A name of a-z, 0-9 and `_`, at most 32; an open set.
    #[schema(example = "denied")]
    result: String,
    /// RFC 3339; when it was received unless given. At most 5 minutes ahead.
    #[schema(format = DateTime)]
    occurred_at: Option<String>,
    /// The client's own id for the event; needs `occurred_at`. Sent again by the same API key as it was,
    /// the event is listed once; sent again within seven days, it also alerts once.
    client_event_id: Option<String>,
    /// At most 256 characters.
    resource: Option<String>,
    session_id: Option<String>,
    trace_id: Option<String>,
    span_id: Option<String>,
    decision_id: Option<String>,
    /// `info`, `low`, `medium`, `high` or `critical`.
    #[schema(value_type = Option<Severity>)]
    severity: Option<String>,
    latency_ms: Option<f64>,
    error_code: Option<String>,
    /// Any JSON object, at most 16 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Value>,
}

/// An audit event as it is recorded: what was sent, behind the server's fields.
#[derive(Serialize, ToSchema)]
pub struct Event {
    #[schema(example = "evt_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: String,
    /// When we took it.
    #[schema(format = DateTime)]
    received_at: String,
    /// Who wrote it: `server`, or the id of an API key. Events that were recorded before events said so have none.
    #[schema(example = "key_01jcq3k5m8e9ratvw2x4y6z8ab")]
    source: Option<String>,
    /// When it occurred; when it was received unless it was sent with a time.
    #[schema(format = DateTime)]
    occurred_at: String,
    #[serde(flatten)]
    sent: NewEvent,
}

/// Up to 1,000 events in one request.
#[derive(Serialize, ToSchema)]
pub struct NewEvents {
    events: Vec<NewEvent>,
}

/// What a request may carry.
#[derive(Serialize, ToSchema)]
#[expect(
    dead_code,
    clippy::large_enum_variant,
    reason = "describes what the domain reads from bytes; nothing is read into it"
)]
#[serde(untagged)]
pub enum EventsOrOne {
    Many(NewEvents),
    One(NewEvent),
}

/// An event in the envelope of CloudEvents 1.0. Attributes that are not listed here are ignored.
#[derive(Serialize, ToSchema)]
pub struct CloudEvent {
    #[schema(example = "1.0")]
    specversion: String,
    id: String,
    source: String,
    r#type: String,
    /// RFC 3339; the event's `occurred_at` if `data` has none. An event that has a time and no
    /// `client_event_id` gets `source`, `#` and `id` as one.
    #[schema(format = DateTime)]
    time: Option<String>,
    data: NewEvent,
}

#[cfg(test)]
mod tests {
    use domain::event::{EventView, OF_THE_SERVER};
    use utoipa::PartialSchema as _;

    use super::*;

    #[test]
    fn the_document_names_every_field_a_client_may_send() {
        let schema = serde_json::to_value(NewEvent::schema()).expect("JSON");
        let mut described: Vec<&str> = schema["properties"]
            .as_object()
            .expect("properties")
            .keys()
            .map(String::as_str)
            .collect();
        let mut read: Vec<&str> = EventView::FIELDS
            .iter()
            .copied()
            .filter(|field| !OF_THE_SERVER.contains(field))
            .collect();
        described.sort_unstable();
        read.sort_unstable();
        assert_eq!(described, read);
        assert_eq!(
            schema["required"],
            serde_json::json!(["event_type", "agent_id", "action", "result"])
        );
    }
}
