//! The columns that an event has in formats that have columns.

use std::borrow::Cow;

use domain::event::EventView;

/// What each column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// A number, as the client wrote it.
    Number,
    /// JSON, as the client wrote it.
    Json,
}

/// The columns, in order.
pub(crate) const COLUMNS: [(&str, Kind); 18] = [
    ("id", Kind::Text),
    ("occurred_at", Kind::Text),
    ("received_at", Kind::Text),
    ("event_type", Kind::Text),
    ("agent_id", Kind::Text),
    ("action", Kind::Text),
    ("result", Kind::Text),
    ("severity", Kind::Text),
    ("resource", Kind::Text),
    ("session_id", Kind::Text),
    ("trace_id", Kind::Text),
    ("span_id", Kind::Text),
    ("decision_id", Kind::Text),
    ("client_event_id", Kind::Text),
    ("latency_ms", Kind::Number),
    ("error_code", Kind::Text),
    ("metadata", Kind::Json),
    // Last: whoever reads CSV by place finds the others where they were.
    ("source", Kind::Text),
];

/// The value of a column: texts without their quotes, the rest as it was sent. `None` if the event has
/// none, or `null`.
pub(crate) fn cell<'a>(event: &EventView<'a>, name: &str, kind: Kind) -> Option<Cow<'a, str>> {
    match kind {
        Kind::Text => event.text(name),
        Kind::Number | Kind::Json => {
            let json = event.field(name)?.get();
            (json != "null").then_some(Cow::Borrowed(json))
        }
    }
}

/// An event's fields. One that we cannot read was checked when it came in, so it has no cells but is
/// still there.
pub(crate) fn view(json: &str) -> EventView<'_> {
    EventView::parse(json).unwrap_or_default()
}
