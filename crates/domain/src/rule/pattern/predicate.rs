//! Every test that a pattern can make of a value.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::{
    TEXT_COST,
    glob::Glob,
    network::Network,
    part::Part,
    range::Range,
    scalar::{Scalar, Seen},
};

/// One of the things listed for a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Predicate {
    Is(Scalar<'static>),
    Prefix(Box<str>),
    Suffix(Box<str>),
    Contains(Part),
    Wildcard(Glob),
    EqualsIgnoreCase(Box<str>),
    /// The field is there, and holds something for which this does not hold.
    AnythingBut(But),
    Numeric(Range),
    Exists(bool),
    Cidr(Network),
}

/// What `anything-but` rules out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum But {
    Values(Vec<Scalar<'static>>),
    Prefix(Box<str>),
    Suffix(Box<str>),
}

impl Predicate {
    /// `seen` is what the field holds; `None` if the event does not have it.
    pub fn passes(&self, seen: Option<&Seen<'_>>) -> bool {
        match (self, seen) {
            (Self::Exists(wanted), seen) => seen.is_some() == *wanted,
            (_, None) => false,
            (_, Some(seen)) => seen.scalars().iter().any(|scalar| self.holds(scalar)),
        }
    }

    fn holds(&self, seen: &Scalar<'_>) -> bool {
        let text = |test: &dyn Fn(&str) -> bool| seen.as_text().is_some_and(test);
        match self {
            Self::Is(wanted) => wanted == seen,
            Self::Prefix(prefix) => text(&|text| text.starts_with(&**prefix)),
            Self::Suffix(suffix) => text(&|text| text.ends_with(&**suffix)),
            Self::Contains(part) => text(&|text| part.is_in(text)),
            Self::Wildcard(glob) => text(&|text| glob.matches(text)),
            Self::EqualsIgnoreCase(wanted) => text(&|text| is_equal_ignoring_case(text, wanted)),
            Self::AnythingBut(But::Values(values)) => !values.contains(seen),
            Self::AnythingBut(But::Prefix(prefix)) => !text(&|text| text.starts_with(&**prefix)),
            Self::AnythingBut(But::Suffix(suffix)) => !text(&|text| text.ends_with(&**suffix)),
            Self::Numeric(range) => seen.as_number().is_some_and(|number| range.holds(number)),
            // Presence is not a property of a value.
            Self::Exists(_) => false,
            Self::Cidr(network) => text(&|text| {
                text.parse::<IpAddr>()
                    .is_ok_and(|address| network.holds(address))
            }),
        }
    }

    /// The operator, as it is written; `equals` for a plain value.
    /// What [`Self::operator`] can return.
    pub const OPERATORS: [&str; 10] = [
        "equals",
        "prefix",
        "suffix",
        "contains",
        "wildcard",
        "equals-ignore-case",
        "anything-but",
        "numeric",
        "exists",
        "cidr",
    ];

    pub fn operator(&self) -> &'static str {
        match self {
            Self::Is(_) => "equals",
            Self::Prefix(_) => "prefix",
            Self::Suffix(_) => "suffix",
            Self::Contains(_) => "contains",
            Self::Wildcard(_) => "wildcard",
            Self::EqualsIgnoreCase(_) => "equals-ignore-case",
            Self::AnythingBut(_) => "anything-but",
            Self::Numeric(_) => "numeric",
            Self::Exists(_) => "exists",
            Self::Cidr(_) => "cidr",
        }
    }

    /// What the operator is given, as it is written.
    pub fn wanted(&self) -> Value {
        match self {
            Self::Is(value) => value.to_json(),
            Self::Prefix(text) | Self::Suffix(text) | Self::EqualsIgnoreCase(text) => json!(text),
            Self::Contains(part) => json!(part.as_str()),
            Self::Wildcard(glob) => json!(glob.as_str()),
            Self::AnythingBut(But::Values(values)) => {
                values.iter().map(Scalar::to_json).collect::<Value>()
            }
            Self::AnythingBut(But::Prefix(prefix)) => json!({"prefix": prefix}),
            Self::AnythingBut(But::Suffix(suffix)) => json!({"suffix": suffix}),
            Self::Numeric(range) => range.to_json(),
            Self::Exists(wanted) => json!(wanted),
            Self::Cidr(network) => json!(network.to_string()),
        }
    }

    /// How long it takes, roughly: 1 for what compares with one value, which is some 5 ns; what is cheap
    /// is tried first.
    pub(super) fn cost(&self) -> usize {
        match self {
            Self::AnythingBut(But::Values(values)) => values.len(),
            Self::Contains(_) | Self::Wildcard(_) | Self::EqualsIgnoreCase(_) | Self::Cidr(_) => {
                TEXT_COST
            }
            Self::Is(_)
            | Self::Exists(_)
            | Self::Numeric(_)
            | Self::Prefix(_)
            | Self::Suffix(_)
            | Self::AnythingBut(_) => 1,
        }
    }
}

/// Character by character; what is ASCII in both, which most is, needs no tables.
fn is_equal_ignoring_case(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.chars(), other.chars());
    loop {
        let rest = (one.as_str(), other.as_str());
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(one), Some(other)) if one.is_ascii() && other.is_ascii() => {
                if !one.eq_ignore_ascii_case(&other) {
                    return false;
                }
            }
            // The letters of one may be more than those of the other.
            _ => return folded(rest.0).eq(folded(rest.1)),
        }
    }
}

/// The characters of a text without the difference between upper and lower case.
pub(in crate::rule) fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}
