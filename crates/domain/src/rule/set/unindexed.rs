//! An event parsed whole, and a rule tried on it without an index: the truth that the index must agree
//! with, and what explanations are made of.

use serde_json::{Map, Value};

use crate::{
    event::EventView,
    rule::{
        Definition,
        pattern::{FieldTest, Pattern, scalar::Seen},
    },
};

/// Every field of an event.
pub struct Whole(Map<String, Value>);

impl Whole {
    /// A field that cannot be read is taken for missing; none gets past the door.
    pub fn of(event: &EventView<'_>) -> Self {
        let field = |name: &&str| {
            let json = event.field(name)?.get();
            Some(((*name).to_owned(), serde_json::from_str(json).ok()?))
        };
        Self(EventView::FIELDS.iter().filter_map(field).collect())
    }

    pub fn at(&self, path: &[Box<str>]) -> Option<&Value> {
        let (top, inside) = path.split_first()?;
        let top = self.0.get(&**top)?;
        inside
            .iter()
            .try_fold(top, |object, key| object.as_object()?.get(&**key))
    }

    pub fn is_wanted(&self, rule: &Definition) -> bool {
        self.is_wanted_by(&rule.pattern)
            && !rule.except.iter().any(|pattern| self.is_wanted_by(pattern))
    }

    pub fn is_wanted_by(&self, pattern: &Pattern) -> bool {
        let passes = |test: &FieldTest| test.passes(self.at(&test.path).map(Seen::of).as_ref());
        let conditions = pattern.conditions();
        let branches = &conditions.any;
        conditions.all.iter().all(passes)
            && (branches.is_empty() || branches.iter().any(|tests| tests.iter().all(passes)))
    }
}
