//! The JSON values that are compared, and what an event holds in one field.

use std::{borrow::Cow, slice};

use serde_json::{Number, Value};

use super::ELEMENTS_MAX;

/// A JSON value that is compared whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scalar<'a> {
    Text(Cow<'a, str>),
    /// The bits of the f64, with `-0.0` written as `0.0`.
    Number(u64),
    Bool(bool),
    Null,
}

/// What an event holds in a field that it has.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen<'a> {
    One(Scalar<'a>),
    /// The scalars among the first elements of a list.
    List(Vec<Scalar<'a>>),
    Object,
}

impl<'a> Scalar<'a> {
    /// `None` for arrays and objects.
    pub fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(Cow::Borrowed(text))),
            Value::Number(number) => number.as_f64().map(Self::number),
            Value::Bool(truth) => Some(Self::Bool(*truth)),
            Value::Null => Some(Self::Null),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub fn number(number: f64) -> Self {
        let zero_has_one_sign = if number == 0.0 { 0.0 } else { number };
        Self::Number(f64::to_bits(zero_has_one_sign))
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(bits) => Some(f64::from_bits(*bits)),
            _ => None,
        }
    }

    pub fn into_owned(self) -> Scalar<'static> {
        match self {
            Self::Text(text) => Scalar::Text(Cow::Owned(text.into_owned())),
            Self::Number(bits) => Scalar::Number(bits),
            Self::Bool(truth) => Scalar::Bool(truth),
            Self::Null => Scalar::Null,
        }
    }

    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::from(text.as_ref()),
            Self::Number(bits) => json_number(f64::from_bits(*bits)),
            Self::Bool(truth) => Value::from(*truth),
            Self::Null => Value::Null,
        }
    }
}

/// A number as people write it: `500`, not `500.0`.
pub(super) fn json_number(number: f64) -> Value {
    /// Below this every whole number is an f64.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT_MAX {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and in bounds")]
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

impl<'a> Seen<'a> {
    pub fn of(value: &'a Value) -> Self {
        match value {
            Value::Array(elements) => {
                let first = elements.iter().take(ELEMENTS_MAX);
                Self::List(first.filter_map(Scalar::of).collect())
            }
            value => Scalar::of(value).map_or(Self::Object, Self::One),
        }
    }

    /// The values of which one has to pass.
    pub fn scalars(&self) -> &[Scalar<'a>] {
        match self {
            Self::One(scalar) => slice::from_ref(scalar),
            Self::List(scalars) => scalars,
            Self::Object => &[],
        }
    }
}
