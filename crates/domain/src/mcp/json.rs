//! JSON that has one meaning: of a member that is there twice, one reader takes the first and another the last, and the guard
//! would decide about another call than the one that is made.

use std::{collections::HashSet, fmt};

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

/// When two members have one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SameName {
    /// In data, where `The` and `the` may be two words that a tool has counted.
    AsSpelled,
    /// Also if only case tells them apart: some readers, among them Go's, take one for the other.
    InAnyCase,
}

/// The value that these bytes are, and nothing besides it.
pub(super) fn read(bytes: &[u8], same_name: SameName) -> Result<Value, Unreadable> {
    let unreadable = |error: serde_json::Error| Unreadable(error.to_string());
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let reading = Reading {
        depth: 0,
        same_name,
    };
    let value = reading.deserialize(&mut deserializer);
    let value = value.map_err(unreadable)?;
    deserializer.end().map_err(unreadable)?;
    Ok(value)
}

/// A member that is one of these to readers who do not look at case, and none to others.
pub(super) fn misspelled<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    let is_one_of = |name: &String| {
        let folded = folded(name);
        names
            .iter()
            .any(|known| name != known && folded == self::folded(known))
    };
    object
        .keys()
        .find(|name| is_one_of(name))
        .map(String::as_str)
}

/// The same text for all that only case tells apart. Some letters become small only after they were large (`ſ`).
fn folded(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    let small = name.chars().flat_map(char::to_lowercase);
    let large = small.flat_map(char::to_uppercase);
    large.flat_map(char::to_lowercase).collect()
}

/// A value inside so many others.
#[derive(Clone, Copy)]
struct Reading {
    depth: usize,
    same_name: SameName,
}

impl Reading {
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH_MAX {
            let too_deep = format!("nested deeper than {DEPTH_MAX}");
            return Err(E::custom(too_deep));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Reading {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading {
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
        let mut in_any_case = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom("a member is there twice"));
            }
            if self.same_name == SameName::InAnyCase && !in_any_case.insert(folded(&name)) {
                return Err(A::Error::custom("only case tells two members apart"));
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

    fn read(bytes: &[u8]) -> Result<Value, Unreadable> {
        super::read(bytes, SameName::InAnyCase)
    }

    #[test]
    fn what_could_mean_two_things_is_not_read() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(nested(DEPTH_MAX).as_bytes()).is_ok());
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"b":[{"a":1,"\u0061":2}]}"#,
            r#"{"name":"a","Name":"b"}"#,
            r#"{"arguments":{"path":"a","ſs":1,"SS":2}}"#,
            r#"{"task":1,"tas\u212a":2}"#,
            r#"{"ß":1,"ẞ":2}"#,
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
        let words = r#"{"The":1,"the":2}"#.as_bytes();
        assert!(super::read(words, SameName::AsSpelled).is_ok());
        assert!(super::read(br#"{"a":1,"a":2}"#, SameName::AsSpelled).is_err());
    }

    #[test]
    fn a_name_that_some_readers_take_for_another_is_misspelled() {
        for (name, is_misspelled) in [
            ("Params", true),
            ("param\u{17f}", true),
            ("params", false),
            ("parameters", false),
        ] {
            let object = json!({"id": 1, name: {}});
            let object = object.as_object().expect("an object");
            let found = misspelled(object, &["id", "params"]);
            assert_eq!(found, is_misspelled.then_some(name));
        }
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
