//! Every test that a pattern can make of a value.

use std::net::IpAddr;

use memchr::memmem;
use serde_json::{Value, json};

use super::{
    glob::Glob,
    network::Network,
    range::Range,
    scalar::{Scalar, Seen},
};

/// One of the things listed for a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Predicate {
    Is(Scalar<'static>),
    Prefix(Box<str>),
    Suffix(Box<str>),
    Contains(Box<str>),
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
            Self::Contains(part) => {
                text(&|text| memmem::find(text.as_bytes(), part.as_bytes()).is_some())
            }
            Self::Wildcard(glob) => text(&|text| glob.matches(text)),
            Self::EqualsIgnoreCase(wanted) => text(&|text| folded(text).eq(folded(wanted))),
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
            Self::Prefix(text)
            | Self::Suffix(text)
            | Self::Contains(text)
            | Self::EqualsIgnoreCase(text) => json!(text),
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

    /// How long it takes, roughly; what is cheap is tried first.
    pub(super) fn cost(&self) -> u32 {
        match self {
            Self::Is(_) | Self::Exists(_) | Self::Numeric(_) => 1,
            Self::Prefix(_) | Self::Suffix(_) | Self::AnythingBut(_) => 2,
            Self::EqualsIgnoreCase(_) | Self::Cidr(_) => 8,
            Self::Contains(_) => 16,
            Self::Wildcard(_) => 32,
        }
    }
}

/// The characters of a text without the difference between upper and lower case.
pub(in crate::rule) fn folded(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}
