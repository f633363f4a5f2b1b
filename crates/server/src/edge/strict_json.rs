//! Reads the JSON body of a request about a rule, about policies or for a decision, or of a form: small, and nothing said
//! twice.

use std::{borrow::Cow, collections::HashSet, fmt};

use axum::extract::{FromRequest, Request};
use domain::{
    event::view::Key,
    fault::{Fault, FaultCode, pointer_to},
};
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess};
use utoipa::ToSchema;

use super::{Problem, extract::small_json, missing_fields::unreadable, objects};

/// The largest body: a rule (64 KiB) and an event (32 KiB), written with many spaces.
const BODY_BYTES_MAX: usize = 256 * 1024;
/// The same about policies: their texts (384 KiB), which JSON may double, and as much again of tests.
const POLICY_BODY_BYTES_MAX: usize = 1536 * 1024;
/// The same of a form: an address, a name and a password.
const FORM_BYTES_MAX: usize = 16 * 1024;

/// A JSON body of a known shape. Of a field that is given twice a parser would take one and drop the other,
/// and the rule would not be what its owner wrote.
#[derive(Debug)]
pub struct RuleJson<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + ToSchema> FromRequest<S> for RuleJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        read(request, BODY_BYTES_MAX).await.map(Self)
    }
}

/// The same for what is said of policies, which is longer.
#[derive(Debug)]
pub struct PolicyJson<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + ToSchema> FromRequest<S> for PolicyJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        read(request, POLICY_BODY_BYTES_MAX).await.map(Self)
    }
}

/// The same for forms with a password, which most often anybody may send: nobody's is long.
#[derive(Debug)]
pub struct FormJson<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + ToSchema> FromRequest<S> for FormJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        read(request, FORM_BYTES_MAX).await.map(Self)
    }
}

/// The same of at most so many bytes, for questions: an agent that takes the first of two must not act on another value than the
/// policies saw.
#[derive(Debug)]
pub struct StrictJson<T, const BYTES_MAX: usize>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + ToSchema, const BYTES_MAX: usize> FromRequest<S>
    for StrictJson<T, BYTES_MAX>
{
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        read(request, BYTES_MAX).await.map(Self)
    }
}

async fn read<T: DeserializeOwned + ToSchema>(
    request: Request,
    bytes_max: usize,
) -> Result<T, Problem> {
    let bytes = small_json(request, bytes_max).await?;
    if let Some(pointer) = repeated(&bytes) {
        let detail = "This field is given twice; leave one of them out.";
        let fault = Fault::new(FaultCode::FieldDuplicated, pointer, detail);
        return Err(Problem::invalid(vec![fault]));
    }
    objects::from_slice(&bytes).map_err(|error| unreadable::<T>(&bytes, &error))
}

/// Where a key stands that its object has already, if there is one. What is not JSON is left to others.
pub fn repeated(json: &[u8]) -> Option<String> {
    let mut found = None;
    let walk = Walk { found: &mut found };
    // That it fails is how the walk ends early.
    drop(walk.deserialize(&mut serde_json::Deserializer::from_slice(json)));
    found
}

/// Goes through a value and looks at its keys.
struct Walk<'w> {
    /// Where the key stands that was found, seen from here.
    found: &'w mut Option<String>,
}

impl Walk<'_> {
    /// What stands below.
    fn below(&mut self) -> Walk<'_> {
        Walk { found: self.found }
    }

    /// What was found below, if anything was, stands under this.
    fn under(&mut self, step: &str) {
        if let Some(pointer) = self.found {
            pointer.insert_str(0, &pointer_to(step));
        }
    }
}

/// The keys of an object. Most have so few that looking at each is faster than hashing them.
#[derive(Default)]
struct Keys<'de> {
    few: Vec<Cow<'de, str>>,
    more: HashSet<Cow<'de, str>>,
}

const FEW: usize = 16;

impl<'de> Keys<'de> {
    /// Whether it is new.
    fn insert(&mut self, key: Cow<'de, str>) -> bool {
        if self.few.contains(&key) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(key);
            return true;
        }
        self.more.insert(key)
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> de::Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut elements: A) -> Result<(), A::Error> {
        for index in 0_usize.. {
            match elements.next_element_seed(self.below()) {
                Ok(Some(())) => {}
                Ok(None) => break,
                Err(error) => {
                    self.under(&index.to_string());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let mut keys = Keys::default();
        while let Some(key) = fields.next_key_seed(Key)? {
            if !keys.insert(key.clone()) {
                *self.found = Some(pointer_to(&key));
                return Err(de::Error::custom("a key is repeated"));
            }
            if let Err(error) = fields.next_value_seed(self.below()) {
                self.under(&key);
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_an_object_has_twice_is_found_wherever_it_stands() {
        let cases = [
            (r#"{"a":1,"b":{"a":[1,{"c":null}]},"c":-2.5}"#, None),
            (r#"{"a":1,"b":2,"a":3}"#, Some("/a")),
            (r#"{"m":{"l":[{},{"x/y":1,"x/y":2}]}}"#, Some("/m/l/1/x~1y")),
            (r#"{"a":1,"#, None),
            (r#"{"a":[[],[{"a":1,"\u0061":2}]]}"#, Some("/a/1/0/a")),
        ];
        for (json, pointer) in cases {
            assert_eq!(repeated(json.as_bytes()).as_deref(), pointer, "{json}");
        }
        for (again, others) in [(0, 5), (4, 5), (3, 40), (39, 40)] {
            let keys = (0..others).chain([again]);
            let members: Vec<String> = keys.map(|key| format!(r#""k{key}":{{}}"#)).collect();
            let json = format!("{{{}}}", members.join(","));
            assert_eq!(repeated(json.as_bytes()), Some(format!("/k{again}")));
        }
    }
}
