//! Reads `metadata` to its bottom without keeping anything of it.
//!
//! Numbers out of range, halves of characters and bottomless nesting pass as raw JSON, but no rule
//! could look inside: such an event would slip past every rule on `metadata`. Of a key that is given
//! twice a rule would have to guess which one counts.

use std::{borrow::Cow, fmt};

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess};

use super::view::{self, Key};
use crate::fault::{Fault, FaultCode, pointer_to};

/// How deep it may be nested. Parsers commonly stop at 128 levels, and a list or a webhook that carries
/// the event adds some of its own: what we pass on must be readable there.
const DEPTH_MAX: usize = 64;

/// What is wrong with it, if anything is.
pub(super) fn check(json: &str) -> Result<(), Fault> {
    let mut found = Found::default();
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let outcome = deserializer
        .deserialize_any(Walk(&mut found))
        .and_then(|kind| deserializer.end().map(|()| kind));
    match (outcome, found.fault) {
        (_, Some(fault)) => Err(fault.under("/metadata")),
        (Ok(Kind::Object), None) => Ok(()),
        (Ok(Kind::Other), None) => Err(Fault::invalid(
            "/metadata",
            "`metadata` must be a JSON object.",
        )),
        (Err(error), None) => {
            let detail = format!("`metadata` cannot be read: {}.", view::reason(&error));
            Err(Fault::invalid("/metadata", detail))
        }
    }
}

#[derive(Default)]
struct Found<'de> {
    /// The keys of the objects that are open, the innermost last: one list for all of them, so that
    /// most `metadata` costs one allocation.
    keys: Vec<Cow<'de, str>>,
    /// How many objects and arrays are open.
    depth: usize,
    /// A fault that serde has no words for.
    fault: Option<Fault>,
}

impl Found<'_> {
    /// Opens an object or array.
    fn open<E: de::Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let detail = format!("it is nested deeper than {DEPTH_MAX} levels");
            return Err(de::Error::custom(detail));
        }
        Ok(())
    }

    /// Closes the object whose keys start at `start`.
    fn close(&mut self, start: usize) -> Result<(), &'static str> {
        let keys = &mut self.keys[start..];
        // Not one by one: an object may have thousands.
        keys.sort_unstable();
        if let Some([key, _]) = keys.array_windows().find(|[one, next]| one == next) {
            let detail = "This key appears twice; it is unclear which one counts.";
            self.fault = Some(Fault::new(
                FaultCode::FieldDuplicated,
                pointer_to(key),
                detail,
            ));
            return Err("a key is given twice");
        }
        self.keys.truncate(start);
        self.depth -= 1;
        Ok(())
    }

    /// The fault inside a value, seen from the value's owner.
    fn inside(&mut self, step: impl FnOnce(&[Cow<'_, str>]) -> String) {
        if let Some(fault) = self.fault.take() {
            self.fault = Some(fault.under(&step(&self.keys)));
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Object,
    Other,
}

struct Walk<'f, 'de>(&'f mut Found<'de>);

impl<'de> DeserializeSeed<'de> for Walk<'_, 'de> {
    type Value = Kind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> de::Visitor<'de> for Walk<'_, 'de> {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Kind, A::Error> {
        self.0.open()?;
        for index in 0.. {
            match elements.next_element_seed(Walk(self.0)) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => {
                    self.0.inside(|_| format!("/{index}"));
                    return Err(error);
                }
            }
        }
        self.0.depth -= 1;
        Ok(Kind::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Kind, A::Error> {
        self.0.open()?;
        let start = self.0.keys.len();
        while let Some(key) = fields.next_key_seed(Key)? {
            self.0.keys.push(key);
            let mine = self.0.keys.len() - 1;
            if let Err(error) = fields.next_value_seed(Walk(self.0)) {
                self.0.inside(|keys| pointer_to(&keys[mine]));
                return Err(error);
            }
        }
        self.0.close(start).map_err(de::Error::custom)?;
        Ok(Kind::Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_may_be_nested_so_deep_and_no_deeper() {
        let nested = |depth: usize| {
            let inside = depth - 1;
            format!(
                "{{\"a\":{}1{},\"b\":[[]]}}",
                "[".repeat(inside),
                "]".repeat(inside)
            )
        };
        assert_eq!(check(&nested(DEPTH_MAX)), Ok(()));
        let fault = check(&nested(DEPTH_MAX + 1)).expect_err("too deep");
        assert_eq!(fault.pointer, "/metadata");
        assert!(fault.detail.contains("64 levels"), "{fault}");
    }
}
