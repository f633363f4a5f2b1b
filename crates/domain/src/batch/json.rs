//! `{"events": [...]}`, or one bare event object.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{EVENTS_MAX, Read, Shape, Unreadable, elements::Elements};
use crate::event::{Sent, scan::Scan};

pub(crate) fn read(body: &str) -> Result<(Read<'_>, Shape), Unreadable> {
    scan(body).map_or_else(|| read_with_care(body), Ok)
}

pub(crate) fn read_with_care(body: &str) -> Result<(Read<'_>, Shape), Unreadable> {
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

/// The events of a body that is as usual, each with its fields: it is gone through once. `None`: a parser has to say
/// what it is, if it is anything.
fn scan(body: &str) -> Option<(Read<'_>, Shape)> {
    let mut read = Read::default();
    let mut scan = Scan::new(body);
    if !starts_with_events(body) {
        let event = scan_event(&mut scan)?;
        scan.end()?;
        read.push(|| Ok(event));
        return Some((read, Shape::Bare));
    }
    scan.take(b'{')?;
    scan.name()?;
    scan.take(b'[')?;
    while read.count < EVENTS_MAX {
        let event = scan_event(&mut scan)?;
        read.push(|| Ok(event));
        if scan.is_last(b']')? {
            scan.take(b'}')?;
            scan.end()?;
            return Some((read, Shape::Listed));
        }
    }
    None
}

/// The next event; one that is out of the ordinary is not looked into yet.
fn scan_event<'a>(scan: &mut Scan<'a>) -> Option<Sent<'a>> {
    let rest = scan.rest();
    if let Some((json, view)) = scan.event() {
        return Some(Sent {
            view: Some(view),
            ..Sent::bare(json)
        });
    }
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
    let json = values.next()?.ok()?.get();
    scan.go_on_behind(rest, values.byte_offset());
    Some(Sent::bare(json))
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
