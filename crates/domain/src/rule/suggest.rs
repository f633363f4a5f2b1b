//! A `match` made from an event: what kind of thing happened, not to whom.

use serde_json::{Map, Value};

use crate::event::EventView;

/// What other events of the same kind share. Ids are not among it: a rule on them would want this one
/// event, or this one agent.
const SHARED: [&str; 4] = ["event_type", "action", "result", "severity"];

/// A text longer than this is left out: four of them fit into a pattern, however they are escaped.
const TEXT_BYTES_MAX: usize = 128;

/// A pattern that wants this event and those like it.
pub fn pattern(event: &EventView<'_>) -> Value {
    let mut fields = Map::new();
    for name in SHARED {
        let text = event.text(name);
        if let Some(text) = text.filter(|text| text.len() <= TEXT_BYTES_MAX) {
            fields.insert(name.to_owned(), Value::from(vec![text.into_owned()]));
        }
    }
    Value::Object(fields)
}
