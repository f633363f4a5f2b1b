//! An audit event as the API document describes it; a test holds it against what is really read.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::edge::enums::{CloudEventsVersion, Severity};

/// An audit event to record. Unknown fields are refused; put them under `metadata`.
#[derive(Serialize, ToSchema)]
pub struct NewEvent {
    /// A name of a-z, 0-9 and `_`, at most 64 characters; you can choose any, except the reserved types of the server's
    /// own events.
    #[schema(example = "tool_call")]
    event_type: String,
    /// 1 to 128 characters.
    #[schema(example = "billing-agent")]
    agent_id: String,
    /// A dotted name of two or more segments, at most 128 characters.
    #[schema(example = "payments.refund")]
    action: String,
    /// A name of a-z, 0-9 and `_`, at most 32 characters; you can choose any.
    #[schema(example = "denied")]
    result: String,
    /// RFC 3339; by default when it was received. At most 5 minutes in the future.
    #[schema(format = DateTime)]
    occurred_at: Option<String>,
    /// The client's own id for the event; requires `occurred_at`. If the same API key sends the same event again, it is
    /// listed only once; if it does so within seven days, the event also raises alerts only once.
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

/// An audit event as recorded: the server's fields, followed by what was sent.
#[derive(Serialize, ToSchema)]
pub struct Event {
    #[schema(example = "evt_01jcq3k5m8e9ratvw2x4y6z8ab")]
    id: String,
    /// When the server received it.
    #[schema(format = DateTime)]
    received_at: String,
    /// Who wrote it: `server`, or the id of an API key. Absent from events recorded before this field existed.
    #[schema(example = "key_01jcq3k5m8e9ratvw2x4y6z8ab")]
    source: Option<String>,
    /// When it occurred; if it was sent without a time, when it was received.
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

/// What a request can carry.
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

/// An event in a CloudEvents 1.0 envelope. Attributes that are not listed here are ignored.
#[derive(Serialize, ToSchema)]
pub struct CloudEvent {
    #[schema(value_type = CloudEventsVersion, example = "1.0")]
    specversion: String,
    id: String,
    source: String,
    r#type: String,
    /// RFC 3339; used as the event's `occurred_at` if `data` has none. An event that has a time but no
    /// `client_event_id` gets one made of `source`, `#` and `id`.
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
