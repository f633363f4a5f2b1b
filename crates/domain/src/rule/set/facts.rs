//! What an event holds in the fields that rules name: read once, borrowed, whatever the number of rules.

use std::{borrow::Cow, fmt};

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess};

use super::{
    key::{self, LENGTHS},
    paths::{PathId, Paths, Uses},
};
use crate::{
    event::{
        EventView,
        view::{self, Key, Raw},
    },
    rule::pattern::{
        ELEMENTS_MAX, STRING_BYTES_MAX,
        scalar::{Scalar, Seen},
    },
};

/// The fields of one event, as far as rules name them.
pub(super) struct Facts<'e> {
    /// In the order of their paths.
    facts: Vec<Fact<'e>>,
}

struct Fact<'e> {
    path: PathId,
    uses: Uses,
    seen: Seen<'e>,
}

impl<'e> Facts<'e> {
    pub(super) fn read(event: &EventView<'e>, paths: &Paths) -> Self {
        let mut facts = Vec::with_capacity(8);
        for (path, name, uses) in paths.at_top() {
            let Some(raw) = event.field(name) else {
                continue;
            };
            let start = facts.len();
            match read(raw, path, paths, &mut facts) {
                Some(seen) => facts.push(Fact { path, uses, seen }),
                // Half of something that cannot be read is nothing.
                None => facts.truncate(start),
            }
        }
        facts.sort_unstable_by_key(|fact| fact.path);
        Self { facts }
    }

    pub(super) fn at(&self, path: PathId) -> Option<&Seen<'e>> {
        let place = self.facts.binary_search_by_key(&path, |fact| fact.path);
        place.ok().map(|place| &self.facts[place].seen)
    }

    /// The keys of the event, as far as there are rules that go by them.
    pub(super) fn keys(&self) -> Vec<u64> {
        let mut keys = Vec::with_capacity(16);
        for Fact { path, uses, seen } in &self.facts {
            for scalar in seen.scalars() {
                match scalar.as_text() {
                    Some(text) => text_keys(*path, *uses, text, &mut keys),
                    None if uses.equals => keys.push(key::equals(*path, scalar)),
                    None => {}
                }
            }
            if uses.pair {
                self.pair_keys(seen, &mut keys);
            }
        }
        keys
    }

    fn pair_keys(&self, event_types: &Seen<'e>, keys: &mut Vec<u64>) {
        let results = PathId::top("result").and_then(|path| self.at(path));
        for result in results.map_or(&[][..], Seen::scalars) {
            let pairs = event_types.scalars().iter();
            keys.extend(pairs.map(|event_type| key::pair(event_type, result)));
        }
    }
}

fn text_keys(path: PathId, uses: Uses, text: &str, keys: &mut Vec<u64>) {
    let bytes = text.as_bytes();
    // No pattern has a longer text that must be equal.
    if uses.equals && bytes.len() <= STRING_BYTES_MAX {
        keys.push(key::equals_text(path, text));
    }
    // Letters of the other case may be longer or shorter.
    if uses.ignoring_case && bytes.len() <= 4 * STRING_BYTES_MAX {
        keys.push(key::equals_ignoring_case(path, text));
    }
    for (rung, length) in LENGTHS.iter().enumerate() {
        let bit = 1 << rung;
        if uses.starts & bit != 0
            && let Some(start) = bytes.get(..*length)
        {
            keys.push(key::starts(path, start));
        }
        if uses.ends & bit != 0
            && let Some(from) = bytes.len().checked_sub(*length)
        {
            keys.push(key::ends(path, &bytes[from..]));
        }
    }
}

/// What a field at the top holds; fields inside that rules name are added to `facts`.
fn read<'e>(
    raw: Raw<'e>,
    path: PathId,
    paths: &Paths,
    facts: &mut Vec<Fact<'e>>,
) -> Option<Seen<'e>> {
    // Most are texts, which need no parser.
    if raw.get().starts_with('"') {
        return view::text(raw).map(|text| Seen::One(Scalar::Text(text)));
    }
    let mut json = serde_json::Deserializer::from_str(raw.get());
    let here = Some(path);
    Walk { here, paths, facts }.deserialize(&mut json).ok()
}

/// Reads a value, and what rules name inside it.
struct Walk<'w, 'e> {
    /// `None` where no rule looks.
    here: Option<PathId>,
    paths: &'w Paths,
    facts: &'w mut Vec<Fact<'e>>,
}

impl<'e> DeserializeSeed<'e> for Walk<'_, 'e> {
    type Value = Seen<'e>;

    fn deserialize<D: Deserializer<'e>>(self, deserializer: D) -> Result<Seen<'e>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'e> de::Visitor<'e> for Walk<'_, 'e> {
    type Value = Seen<'e>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Seen<'e>, E> {
        Ok(Seen::One(Scalar::Bool(truth)))
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers compare as f64")]
    fn visit_i64<E>(self, number: i64) -> Result<Seen<'e>, E> {
        Ok(Seen::One(Scalar::number(number as f64)))
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers compare as f64")]
    fn visit_u64<E>(self, number: u64) -> Result<Seen<'e>, E> {
        Ok(Seen::One(Scalar::number(number as f64)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Seen<'e>, E> {
        Ok(Seen::One(Scalar::number(number)))
    }

    fn visit_borrowed_str<E>(self, text: &'e str) -> Result<Seen<'e>, E> {
        Ok(Seen::One(Scalar::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Seen<'e>, E> {
        Ok(Seen::One(Scalar::Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_unit<E>(self) -> Result<Seen<'e>, E> {
        Ok(Seen::One(Scalar::Null))
    }

    fn visit_seq<A: SeqAccess<'e>>(self, mut elements: A) -> Result<Seen<'e>, A::Error> {
        let Self { paths, facts, .. } = self;
        let mut scalars = Vec::new();
        for _ in 0..ELEMENTS_MAX {
            let here = None;
            match elements.next_element_seed(Walk { here, paths, facts })? {
                Some(Seen::One(scalar)) => scalars.push(scalar),
                // Lists and objects in a list are not compared.
                Some(_) => {}
                None => return Ok(Seen::List(scalars)),
            }
        }
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Seen::List(scalars))
    }

    fn visit_map<A: MapAccess<'e>>(self, mut fields: A) -> Result<Seen<'e>, A::Error> {
        let Self { here, paths, facts } = self;
        while let Some(key) = fields.next_key_seed(Key)? {
            let named = here.and_then(|here| paths.below(here, &key));
            let Some((path, uses)) = named else {
                fields.next_value::<IgnoredAny>()?;
                continue;
            };
            let here = Some(path);
            let seen = fields.next_value_seed(Walk { here, paths, facts })?;
            facts.push(Fact { path, uses, seen });
        }
        Ok(Seen::Object)
    }
}
