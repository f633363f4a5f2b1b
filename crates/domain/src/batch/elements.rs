//! Reads a JSON array element by element; more than may be are counted and not kept.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{EVENTS_MAX, Read};
use crate::{event::Sent, fault::Fault};

/// What an element of the array is as an event.
type AsEvent<'a> = fn(&'a RawValue) -> Result<Sent<'a>, Fault>;

/// An array of events.
pub(super) struct Elements<'a>(pub(super) AsEvent<'a>);

impl<'de> DeserializeSeed<'de> for Elements<'de> {
    type Value = Read<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Read<'de>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'de> {
    type Value = Read<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Read<'de>, A::Error> {
        let mut read = Read::default();
        while read.count < EVENTS_MAX {
            let Some(element) = elements.next_element::<&RawValue>()? else {
                return Ok(read);
            };
            read.push(|| self.0(element));
        }
        while elements.next_element::<IgnoredAny>()?.is_some() {
            read.count += 1;
        }
        Ok(read)
    }
}
