//! JSON that has one meaning: of a member that is there twice, one reader takes the first and another the last, and the guard
//! would decide about another call than the one that is made.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// How deep a message may be nested. Schemas of tools are some ten deep, and every reader here takes 128.
pub const DEPTH_MAX: usize = 64;

/// Members by which our own JSON library marks values; a text in one would be read as JSON by the server that decides.
const PRIVATE: &str = "$serde_json::private::";

/// Why something is not JSON, or JSON that could mean two things.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

impl Unreadable {
    pub(super) fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

/// The value that these bytes are, and nothing besides it.
pub(super) fn read(bytes: &[u8]) -> Result<Value, Unreadable> {
    let unreadable = |error: serde_json::Error| Unreadable(error.to_string());
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = AtDepth(0).deserialize(&mut deserializer);
    let value = value.map_err(unreadable)?;
    deserializer.end().map_err(unreadable)?;
    Ok(value)
}

/// A value inside so many others.
#[derive(Clone, Copy)]
struct AtDepth(usize);

impl AtDepth {
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.0 == DEPTH_MAX {
            let too_deep = format!("nested deeper than {DEPTH_MAX}");
            return Err(E::custom(too_deep));
        }
        Ok(Self(self.0 + 1))
    }
}

impl<'de> DeserializeSeed<'de> for AtDepth {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AtDepth {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("no finite number"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(inside)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom("a member is there twice"));
            }
            if name.starts_with(PRIVATE) {
                return Err(A::Error::custom("a member has a name that is not allowed"));
            }
            let value = members.next_value_seed(inside)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_could_mean_two_things_is_not_read() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(nested(DEPTH_MAX).as_bytes()).is_ok());
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"b":[{"a":1,"\u0061":2}]}"#,
            r#"{"a":{"$serde_json::private::RawValue":"{}"}}"#,
            r#"{"a":1} {"a":2}"#,
            r#"{"a":1e400}"#,
            r#""\ud800""#,
            "\u{feff}{}",
            "",
            &nested(DEPTH_MAX + 1),
            &nested(100_000),
        ] {
            let shown: String = text.chars().take(40).collect();
            assert!(read(text.as_bytes()).is_err(), "{shown}");
        }
        assert!(read(b"\"\xff\"").is_err());
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_any_other_reader_reads(text in r#"[\[\]{}:,"a-c0-9e.\-\\ ]{0,40}"#) {
            if let Ok(value) = read(text.as_bytes()) {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).expect("JSON"));
            }
        }

        #[test]
        fn numbers_and_texts_are_as_they_were(number: f64, whole: i64, text: String) {
            let value = json!({"number": number, "whole": whole, "text": [text]});
            prop_assert_eq!(read(value.to_string().as_bytes()).expect("JSON"), value);
        }
    }
}
