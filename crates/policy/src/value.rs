//! JSON in Cedar's terms, built directly: Cedar's own reader of JSON takes three times as long, and
//! says neither where a value is wrong nor what to send instead. What is built are values and not expressions, which
//! Cedar would have to evaluate for every set that is asked.

use std::fmt;

use cedar_policy::{EntityId, EntityUid, RestrictedExpression};
use cedar_policy_core::{
    ast::{self, Literal},
    evaluator::RestrictedEvaluator,
    extensions::Extensions,
};
use domain::fault::{Fault, pointer_to};
use serde_json::{Map, Number, Value};

use crate::cedar_request::type_name;

/// How deep values may be nested. Deeper than what tools are called with; Cedar walks values by
/// recursion.
pub const DEPTH_MAX: usize = 32;

/// How many values a question may have, members of lists and objects among them: each costs about a
/// microsecond of every verdict.
pub const VALUES_MAX: usize = 4096;

/// How many faults are told of one question; who sees these knows what kind of thing is wrong.
pub const FAULTS_MAX: usize = 20;

/// From here on a number with a fraction has lost digits before we see it: JSON's numbers are read
/// with 15 digits, and Cedar's decimals have four after the point.
const FRACTION_BELOW: f64 = 1e11;

/// From here on a number that is read with a fraction may be another integer than the one that was sent (2^53).
pub(crate) const INTEGERS_MAX: f64 = 9_007_199_254_740_992.0;

/// How many digits Cedar's decimals have after the point.
const FRACTION_DIGITS_MAX: usize = 4;

/// A member that makes an object a value of one of Cedar's own types.
const EXTENSION: &str = "__extn";
const ENTITY: &str = "__entity";
/// Cedar's JSON had this once, for any expression at all.
const EXPRESSION: &str = "__expr";

/// Names and values, as Cedar takes them.
pub(crate) type Pairs = Vec<(String, ast::Value)>;

/// A value of one of Cedar's own types, which it reads from a text, or why it cannot.
pub(crate) fn read(expression: &RestrictedExpression) -> Result<ast::Value, String> {
    let evaluator = RestrictedEvaluator::new(Extensions::all_available());
    let value = evaluator.interpret(expression.as_ref().as_borrowed());
    value.map_err(|error| error.to_string())
}

/// Reads values and collects what is wrong with them.
#[derive(Default)]
pub(crate) struct Reader {
    pub faults: Vec<Fault>,
    values: usize,
}

impl Reader {
    /// The members of the object at `pointer`. If there are faults afterwards, some are missing, and
    /// none may be used.
    pub fn pairs(&mut self, object: &Map<String, Value>, pointer: &str) -> Pairs {
        self.members(object, &Place::Top(pointer), 1)
    }

    fn members(&mut self, object: &Map<String, Value>, place: &Place<'_>, depth: usize) -> Pairs {
        let members = object.iter().filter_map(|(name, value)| {
            let value = self.value(value, &Place::Member(place, name), depth)?;
            Some((name.clone(), value))
        });
        members.collect()
    }

    /// Nothing if there is a fault, here or within.
    fn value(&mut self, value: &Value, place: &Place<'_>, depth: usize) -> Option<ast::Value> {
        self.values += 1;
        if self.values > VALUES_MAX + 1 {
            return None;
        }
        if self.values > VALUES_MAX {
            let detail = format!(
                "A question may have at most {VALUES_MAX} values. Leave out what no policy looks at."
            );
            return self.refuse(place, detail);
        }
        if depth > DEPTH_MAX {
            return self.refuse(
                place,
                format!("Values may be nested at most {DEPTH_MAX} deep."),
            );
        }
        match value {
            Value::Null => self.refuse(
                place,
                "`null` has no meaning in a policy. Leave the member out.",
            ),
            Value::Bool(is_true) => Some((*is_true).into()),
            Value::Number(number) => self.number(number, place),
            Value::String(text) => Some(text_value(text)),
            Value::Array(values) => {
                let items = values.iter().enumerate();
                let items: Option<Vec<_>> = items
                    .map(|(index, value)| self.value(value, &Place::Item(place, index), depth + 1))
                    .collect();
                items.map(|items| ast::Value::set(items, None))
            }
            Value::Object(object) => self.object(object, place, depth),
        }
    }

    fn object(
        &mut self,
        object: &Map<String, Value>,
        place: &Place<'_>,
        depth: usize,
    ) -> Option<ast::Value> {
        let escape = [EXTENSION, ENTITY, EXPRESSION]
            .into_iter()
            .find(|name| object.contains_key(*name));
        if let Some(name) = escape {
            return self.escaped(name, object, place);
        }
        let members = self.members(object, place, depth + 1);
        if members.len() < object.len() {
            return None;
        }
        Some(ast::Value::record(members, None))
    }

    fn number(&mut self, number: &Number, place: &Place<'_>) -> Option<ast::Value> {
        if let Some(long) = number.as_i64().or_else(|| without_fraction(number)) {
            return Some(long.into());
        }
        if number.is_u64() {
            return self.refuse(
                place,
                "Integers may be at most 9223372036854775807. Send a string, or use a larger unit.",
            );
        }
        let text = number.to_string();
        let digits = text
            .split_once('.')
            .map_or(usize::MAX, |(_, fraction)| fraction.len());
        let is_decimal = number
            .as_f64()
            .is_some_and(|number| number.abs() < FRACTION_BELOW)
            && digits <= FRACTION_DIGITS_MAX
            && !text.contains(['e', 'E']);
        let decimal = || read(&RestrictedExpression::new_decimal(text)).ok();
        if let Some(decimal) = is_decimal.then(decimal).flatten() {
            return Some(decimal);
        }
        self.refuse(
            place,
            r#"Numbers with a fraction may have at most 4 digits after the decimal point and must be below 100000000000. Send an integer in a smaller unit, or {"__extn": {"fn": "decimal", "arg": "1.2345"}}."#,
        )
    }

    /// `{"__extn": {"fn", "arg"}}` or `{"__entity": {"type", "id"}}`, as Cedar itself writes them.
    fn escaped(
        &mut self,
        name: &str,
        object: &Map<String, Value>,
        place: &Place<'_>,
    ) -> Option<ast::Value> {
        let (first, second) = if name == EXTENSION {
            ("fn", "arg")
        } else {
            ("type", "id")
        };
        let inner = object.get(name).and_then(Value::as_object);
        let part = |key| {
            inner
                .and_then(|inner| inner.get(key))
                .and_then(Value::as_str)
        };
        let is_alone = object.len() == 1 && inner.is_some_and(|inner| inner.len() == 2);
        let (Some(first), Some(second), true, true) =
            (part(first), part(second), is_alone, name != EXPRESSION)
        else {
            let detail = r#"Members that begin with `__` are reserved for Cedar: {"__extn": {"fn": "ip", "arg": "10.0.0.1"}} or {"__entity": {"type": "Agent", "id": "a"}}, with nothing else in the object."#;
            return self.refuse(place, detail);
        };
        if name == ENTITY {
            let Some(kind) = type_name(first) else {
                return self.refuse(
                    place,
                    "`type` must be an identifier, like `Agent` or `Shop::Order`.",
                );
            };
            let uid = EntityUid::from_type_name_and_id(kind, EntityId::new(second));
            let uid: ast::EntityUID = uid.into();
            return Some(ast::Value::new(uid, None));
        }
        let expression = match first {
            "ip" => RestrictedExpression::new_ip(second),
            "decimal" => RestrictedExpression::new_decimal(second),
            "datetime" => RestrictedExpression::new_datetime(second),
            "duration" => RestrictedExpression::new_duration(second),
            _ => {
                return self.refuse(
                    place,
                    "`fn` must be `ip`, `decimal`, `datetime` or `duration`.",
                );
            }
        };
        match read(&expression) {
            Ok(value) => Some(value),
            Err(_) => {
                let detail = format!("`arg` is not a valid {first}: Cedar cannot read it.");
                self.refuse(place, detail)
            }
        }
    }

    fn refuse(&mut self, place: &Place<'_>, detail: impl Into<String>) -> Option<ast::Value> {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(Fault::invalid(place.to_string(), detail));
        }
        None
    }
}

pub(crate) fn text_value(text: &str) -> ast::Value {
    Literal::from(text).into()
}

/// What `1.0` and `1e3` stand for: some clients write integers so, and a policy compares with integers.
fn without_fraction(number: &Number) -> Option<i64> {
    let number = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "an integer within 53 bits")]
    (number.fract() == 0.0 && number.abs() <= INTEGERS_MAX).then_some(number as i64)
}

/// Where a value is; written out only when something is wrong there.
pub(crate) enum Place<'a> {
    Top(&'a str),
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top(pointer) => f.write_str(pointer),
            Self::Member(above, name) => write!(f, "{above}{}", pointer_to(name)),
            Self::Item(above, index) => write!(f, "{above}/{index}"),
        }
    }
}
