//! The language of `match`: fields are ANDed, what is listed for a field is ORed.
//!
//! `{"event_type": ["tool_call"], "metadata": {"amount": [{"numeric": [">=", 500]}]}}` wants tool calls
//! of 500 and more. `{}` wants every event. `$or` at the top lists patterns of which one is enough. A
//! missing field passes only `exists: false`; a field that is a list passes if one of its elements does;
//! numbers compare as 64-bit floats. [`read`] parses, with a pointer to what is wrong and the fix;
//! [`predicate`] is every test on a value. docs/reference/alert-rule-language.md is for those who write
//! patterns, docs/reference/alert-rule-match.schema.json for their editors.

pub(crate) mod glob;
mod network;
mod operator;
mod part;
pub mod predicate;
mod range;
pub(super) mod read;
pub mod scalar;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::{predicate::Predicate, scalar::Seen};
use crate::fault::Fault;

// Bounds, so that one rule cannot make every event expensive; refused at create, with the reason.

/// The longest pattern, written without spaces.
pub const SOURCE_BYTES_MAX: usize = 4 * 1024;
/// Fields that a pattern names, those in `$or` included: each is looked at for an event that comes close.
pub const FIELDS_MAX: usize = 16;
/// Values listed for one field, and values in one `anything-but`.
pub const VALUES_MAX: usize = 64;
/// Keys from the top of an event down to a field.
pub const DEPTH_MAX: usize = 6;
/// The longest text or key; what agents are told apart by is shorter.
pub const STRING_BYTES_MAX: usize = 256;
/// `*` in one wildcard; each is one more pass over what is left of the value.
pub const STARS_MAX: usize = 4;
/// Patterns in `$or`: each names a field at least.
pub const BRANCHES_MAX: usize = FIELDS_MAX;
/// How much of a value a wildcard looks at.
pub const WILDCARD_BYTES_MAX: usize = 4 * 1024;
/// How many elements of a list are looked at: 16 KiB of `metadata` can hold thousands, and every
/// predicate would meet them all.
pub const ELEMENTS_MAX: usize = 256;
/// What a test that goes through a text costs, where one that compares with a value costs 1.
pub const TEXT_COST: usize = 16;
/// How many times that a test inside `metadata` costs: it may meet a list of [`ELEMENTS_MAX`] or one text of
/// 16 KiB, and a field at the top a short text.
pub const METADATA_COST: usize = 8;

/// A parsed `match`, and the JSON it was parsed from. Cheap to clone but for the JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct Pattern {
    source: Value,
    conditions: Arc<Conditions>,
}

/// What a pattern asks for: all of these and, if there are branches, one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// The cheapest first.
    pub all: Vec<FieldTest>,
    /// The branches of `$or`; none if it is not there.
    pub any: Vec<Vec<FieldTest>>,
}

/// One field must pass one of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldTest {
    /// The keys from the top of the event down to the field.
    pub path: Vec<Box<str>>,
    pub any_of: Vec<Predicate>,
}

impl Pattern {
    /// Parses `match`, or says at which pointer it is wrong and what to write instead.
    pub fn parse(source: Value) -> Result<Self, Fault> {
        Self::parse_at(source, "/match")
    }

    /// The same for a pattern that stands elsewhere in a rule: faults point below `pointer`.
    pub fn parse_at(source: Value, pointer: &str) -> Result<Self, Fault> {
        let conditions = read::conditions(&source).map_err(|fault| fault.under(pointer))?;
        Ok(Self {
            source,
            conditions: Arc::new(conditions),
        })
    }

    pub fn source(&self) -> &Value {
        &self.source
    }

    pub fn conditions(&self) -> &Arc<Conditions> {
        &self.conditions
    }

    /// Whether events find the rule by a value; if not, every event has to be tried.
    pub fn is_indexed(&self) -> bool {
        super::set::is_indexed(&self.conditions)
    }
}

impl Conditions {
    /// Whether an event is wanted. `look` finds what the event holds where a test looks; it is given
    /// the place of the test among [`Conditions::tests`] too.
    pub fn hold<'s, 'e: 's>(
        &self,
        look: impl Fn(usize, &FieldTest) -> Option<&'s Seen<'e>>,
    ) -> bool {
        let pass = |start: usize, tests: &[FieldTest]| {
            let mut places = (start..).zip(tests);
            places.all(|(place, test)| test.passes(look(place, test)))
        };
        let mut start = self.all.len();
        pass(0, &self.all)
            && (self.any.is_empty()
                || self.any.iter().any(|branch| {
                    let here = start;
                    start += branch.len();
                    pass(here, branch)
                }))
    }

    /// What an event costs that every test is made of, roughly.
    pub(super) fn cost(&self) -> usize {
        self.tests().map(FieldTest::cost).sum()
    }

    /// Every test: those that must all pass, then those of each branch.
    pub fn tests(&self) -> impl Iterator<Item = &FieldTest> {
        self.all.iter().chain(self.any.iter().flatten())
    }
}

impl FieldTest {
    /// `seen` is what the field holds; `None` if the event does not have it.
    pub fn passes(&self, seen: Option<&Seen<'_>>) -> bool {
        self.any_of.iter().any(|predicate| predicate.passes(seen))
    }

    fn cost(&self) -> usize {
        let times = if self.path.len() > 1 {
            METADATA_COST
        } else {
            1
        };
        times * self.any_of.iter().map(Predicate::cost).sum::<usize>()
    }
}

impl TryFrom<Value> for Pattern {
    type Error = Fault;

    fn try_from(source: Value) -> Result<Self, Fault> {
        Self::parse(source)
    }
}

impl From<Pattern> for Value {
    fn from(pattern: Pattern) -> Self {
        pattern.source
    }
}
