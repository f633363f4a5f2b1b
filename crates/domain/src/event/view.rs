//! Reads an event's fields out of its bytes, borrowed, once: the same view serves validation,
//! indexing and matching.

use std::{borrow::Cow, fmt};

use memchr::memchr;
use serde::{Deserializer, de};
use serde_json::value::RawValue;

use super::scan::Scan;
use crate::fault::{Fault, FaultCode, pointer_to};

macro_rules! fields {
    ($($field:ident),* $(,)?) => {
        /// The fields of one event, each still in the JSON it was sent as.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct EventView<'a> {
            $(pub $field: Option<Raw<'a>>,)*
            /// Whether all of `metadata` was looked at, and found as it must be.
            pub(super) has_sound_metadata: bool,
        }

        impl<'a> EventView<'a> {
            /// Every top-level field an event can have.
            pub const FIELDS: &'static [&'static str] = &[$(stringify!($field),)*];

            /// The JSON of a top-level field.
            pub fn field(&self, name: &str) -> Option<Raw<'a>> {
                match name {
                    $(stringify!($field) => self.$field,)*
                    _ => None,
                }
            }

            pub(super) fn slot(&mut self, name: &str) -> Option<&mut Option<Raw<'a>>> {
                match name {
                    $(stringify!($field) => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

fields! {
    id, received_at, source, occurred_at, event_type, agent_id, action, result, client_event_id,
    resource, session_id, trace_id, span_id, decision_id, severity, latency_ms, error_code, metadata,
}

impl<'a> EventView<'a> {
    /// Reads one JSON object; unknown and repeated fields are faults.
    pub fn parse(json: &'a str) -> Result<Self, Fault> {
        Self::scan(json).map_or_else(|| Self::parse_with_care(json), Ok)
    }

    /// Nearly all events are like this.
    pub(super) fn scan(json: &'a str) -> Option<Self> {
        let mut scan = Scan::new(json);
        let (_, view) = scan.event()?;
        scan.end().map(|()| view)
    }

    pub(super) fn parse_with_care(json: &'a str) -> Result<Self, Fault> {
        let mut found = None;
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let outcome = deserializer
            .deserialize_map(Fields { found: &mut found })
            .and_then(|view| deserializer.end().map(|()| view));
        match (outcome, found) {
            (_, Some(fault)) => Err(fault),
            (Ok(view), None) => Ok(view),
            (Err(error), None) => Err(Fault::new(
                FaultCode::NotAnObject,
                "",
                format!(
                    "An event must be one JSON object; reading it failed: {}.",
                    reason(&error)
                ),
            )),
        }
    }

    /// The text of a string field; `None` if it is absent or not a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.field(name).and_then(text)
    }
}

/// One value, in the JSON it was sent as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// `json` is one value, with no blanks around it.
    pub(super) fn new(json: &'a str) -> Self {
        Self(json)
    }

    pub fn get(self) -> &'a str {
        self.0
    }
}

impl<'a> From<&'a RawValue> for Raw<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(raw.get())
    }
}

/// The text of a JSON string, borrowed unless it has escapes.
pub fn text(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if memchr(b'\\', inside.as_bytes()).is_some() {
        return serde_json::from_str(raw.get()).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inside))
}

/// Collects the fields; a fault that serde has no words for is left in `found`.
struct Fields<'f> {
    found: &'f mut Option<Fault>,
}

impl<'de> de::Visitor<'de> for Fields<'_> {
    type Value = EventView<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event object")
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut view = EventView::default();
        while let Some(key) = map.next_key_seed(Key)? {
            let value: &RawValue = map.next_value()?;
            let fault = match view.slot(&key) {
                None => unknown(&key),
                Some(Some(_)) => Fault::new(
                    FaultCode::FieldDuplicated,
                    pointer_to(&key),
                    format!("`{key}` appears twice; it is unclear which one counts."),
                ),
                Some(slot) => {
                    *slot = Some(value.into());
                    continue;
                }
            };
            *self.found = Some(fault);
            return Err(de::Error::custom("fault"));
        }
        Ok(view)
    }
}

/// How much of a parser's complaint is passed on: it may quote all that it complains about.
const REASON_CHARS_MAX: usize = 200;

/// What a parser complains about, in bounds. Where there is one line, its number says nothing, and in
/// a batch of lines it would be taken for the batch's.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let mut reason = error
        .to_string()
        .replace(" at line 1 column ", " at column ");
    if let Some((end, _)) = reason.char_indices().nth(REASON_CHARS_MAX) {
        reason.truncate(end);
        reason.push_str("...");
    }
    reason
}

/// A key, borrowed unless it has escapes.
pub struct Key;

impl<'de> de::DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> de::Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

/// A name longer than this is not repeated to the client that sent it.
const FIELD_NAME_BYTES_MAX: usize = 128;

fn unknown(key: &str) -> Fault {
    if key.len() > FIELD_NAME_BYTES_MAX {
        let detail = "A name this long is not a field of an event; put it under `metadata`.";
        return Fault::new(FaultCode::FieldUnknown, "", detail);
    }
    Fault::new(
        FaultCode::FieldUnknown,
        pointer_to(key),
        format!("`{key}` is not a field of an event; put it under `metadata`."),
    )
}
