//! `{"events": [...]}`, or one bare event object.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Read, Shape, Unreadable, elements::Elements};
use crate::event::Sent;

pub(super) fn read(body: &str) -> Result<(Read<'_>, Shape), Unreadable> {
    let not_json = |source| Unreadable::NotJson {
        expected: r#"JSON of the form {"events": [...]} or one event"#,
        source,
    };
    if !starts_with_events(body) {
        let event: &RawValue = serde_json::from_str(body).map_err(not_json)?;
        let mut read = Read::default();
        read.push(|| Ok(Sent::bare(event.get())));
        return Ok((read, Shape::Bare));
    }
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let read = deserializer
        .deserialize_map(Envelope)
        .and_then(|read| deserializer.end().map(|()| read))
        .map_err(not_json)?;
    Ok((read, Shape::Listed))
}

/// An event has no field `events`, so the first key tells the two forms apart without parsing twice.
fn starts_with_events(body: &str) -> bool {
    let inside = body
        .trim_ascii_start()
        .strip_prefix('{')
        .map(str::trim_ascii_start);
    inside.is_some_and(|inside| inside.starts_with("\"events\""))
}

/// An object whose only field is `events`.
struct Envelope;

impl<'de> Visitor<'de> for Envelope {
    type Value = Read<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the field `events`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Read<'de>, A::Error> {
        // The caller has seen that it is `events`.
        let _: Option<&str> = fields.next_key()?;
        let read = fields.next_value_seed(Elements(|event| Ok(Sent::bare(event.get()))))?;
        match fields.next_key::<de::IgnoredAny>()? {
            None => Ok(read),
            Some(_) => Err(de::Error::custom("`events` is the only field")),
        }
    }
}
