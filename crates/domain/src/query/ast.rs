//! A query that was read: what must hold, term by term.

use super::{
    error::Span,
    fields::{Field, List},
    moment::Moment,
};
use crate::{
    Timestamp,
    rule::pattern::{METADATA_COST, TEXT_COST},
};

/// Which events, decisions or deliveries: those of which every term holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub list: List,
    pub terms: Vec<Term>,
}

/// One thing that must hold, or must not.
#[derive(Clone, Debug)]
pub struct Term {
    pub is_negated: bool,
    pub condition: Condition,
    /// Where it was written.
    pub span: Span,
}

/// Where a term stands is no part of what it asks.
impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        (self.is_negated, &self.condition) == (other.is_negated, &other.condition)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The event contains this text as it was sent, whatever the case of ASCII letters.
    Text(String),
    /// The field passes one of these.
    Field(Path, Vec<Test>),
}

/// A field, or one inside `metadata`.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub field: &'static Field,
    /// The keys inside `metadata`, if that is the field; else none.
    pub keys: Vec<String>,
}

/// What a value must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Anything: the field is there.
    Exists,
    Is(Value),
    Like(Wildcard),
    Number(Range<f64>),
    Time(Range<Moment>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    /// In `metadata` only, and without quotes: a number, `true`, `false` or `null`, or the text that
    /// looks the same. Who asks for `metadata.invoice:1145` does not know which it is.
    Word(String),
}

/// A text in which `*` stands for any text, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wildcard(pub(super) String);

/// Values in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range<T> {
    Above(T),
    From(T),
    Below(T),
    UpTo(T),
    /// Both ends included.
    Within(T, T),
}

impl Query {
    /// What each event that is looked at costs, as for a rule.
    pub fn cost(&self) -> usize {
        self.terms.iter().map(Term::cost).sum()
    }
}

impl Term {
    pub(super) fn cost(&self) -> usize {
        match &self.condition {
            Condition::Text(_) => TEXT_COST * METADATA_COST,
            Condition::Field(path, tests) => {
                let each = if path.is_in_metadata() {
                    METADATA_COST
                } else {
                    1
                };
                each * tests.iter().map(Test::cost).sum::<usize>()
            }
        }
    }
}

impl Path {
    pub fn is_in_metadata(&self) -> bool {
        !self.keys.is_empty() || self.is_of_decisions()
    }

    /// Whether only the server's decisions have it.
    pub fn is_of_decisions(&self) -> bool {
        !self.field.inside.is_empty()
    }

    /// The keys from `metadata` down to it, if it is in there.
    pub fn keys_in_metadata(&self) -> impl Iterator<Item = &str> {
        let inside = self.field.inside.iter().copied();
        inside.chain(self.keys.iter().map(String::as_str))
    }
}

impl Test {
    fn cost(&self) -> usize {
        match self {
            Self::Like(_) => TEXT_COST,
            Self::Exists | Self::Is(_) | Self::Number(_) | Self::Time(_) => 1,
        }
    }
}

impl Wildcard {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What values start with, if that is all it asks.
    pub fn start(&self) -> Option<&str> {
        let start = self.0.strip_suffix('*')?;
        (!start.contains('*')).then_some(start)
    }
}

impl Range<f64> {
    pub fn holds(self, number: f64) -> bool {
        match self {
            Self::Above(limit) => number > limit,
            Self::From(limit) => number >= limit,
            Self::Below(limit) => number < limit,
            Self::UpTo(limit) => number <= limit,
            Self::Within(low, high) => (low..=high).contains(&number),
        }
    }
}

impl Range<Moment> {
    /// The first millisecond of it, and the first one behind it.
    pub fn bounds(self) -> (Option<Timestamp>, Option<Timestamp>) {
        match self {
            Self::Above(moment) => (Some(moment.end()), None),
            Self::From(moment) => (Some(moment.start()), None),
            Self::Below(moment) => (None, Some(moment.start())),
            Self::UpTo(moment) => (None, Some(moment.end())),
            Self::Within(first, last) => (Some(first.start()), Some(last.end())),
        }
    }
}
