//! The language of `match`: fields are ANDed, the values listed for a field are ORed.
//!
//! `{"event_type": ["tool_call"], "metadata": {"region": ["eu", "us"]}}` wants tool calls from
//! either region. `{}` wants every event. A missing field matches nothing; an array field matches
//! if any of its elements does; numbers compare as 64-bit floats.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{event::EventView, fault::Fault};

// Bounds, so that one rule cannot make every event expensive (MATCHING: refused at create).
const SOURCE_BYTES_MAX: usize = 4 * 1024;
const FIELDS_MAX: usize = 16;
const VALUES_MAX: usize = 64;
const DEPTH_MAX: usize = 6;
const STRING_BYTES_MAX: usize = 256;

/// A parsed `match`, and the JSON it was parsed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct Pattern {
    source: Value,
    tests: Vec<FieldTest>,
}

/// One field must hold one of these values.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldTest {
    /// The keys from the top of the event down to the field.
    pub path: Vec<String>,
    pub any_of: Vec<Scalar<'static>>,
}

/// A JSON value that is compared whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scalar<'a> {
    Text(Cow<'a, str>),
    /// The bits of the f64, with `-0.0` written as `0.0`.
    Number(u64),
    Bool(bool),
    Null,
}

impl Pattern {
    /// Parses `match`, or says at which pointer it is wrong and what to write instead.
    pub fn parse(source: Value) -> Result<Self, Fault> {
        let Value::Object(fields) = &source else {
            return Err(fault(
                "",
                "`match` must be an object of field names and value lists.",
            ));
        };
        if source.to_string().len() > SOURCE_BYTES_MAX {
            return Err(fault(
                "",
                format!("`match` is at most {SOURCE_BYTES_MAX} bytes."),
            ));
        }
        for name in fields.keys() {
            if !EventView::FIELDS.contains(&name.as_str()) {
                let known = EventView::FIELDS.join(", ");
                let detail = format!(
                    "`{name}` is not a field of an event, so the rule could never match. Fields: {known}."
                );
                return Err(fault(&format!("/{name}"), detail));
            }
        }
        let mut tests = Vec::new();
        collect(fields, &mut Vec::new(), &mut tests)?;
        if tests.len() > FIELDS_MAX {
            return Err(fault(
                "",
                format!("`match` names at most {FIELDS_MAX} fields."),
            ));
        }
        Ok(Self { source, tests })
    }

    /// The tests that must all pass.
    pub fn tests(&self) -> &[FieldTest] {
        &self.tests
    }

    /// Whether an event meets it only by one of its values; otherwise every event is tested by it.
    pub fn is_indexed(&self) -> bool {
        !self.tests.is_empty()
    }

    pub fn source(&self) -> &Value {
        &self.source
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

    fn number(number: f64) -> Self {
        let zero_has_one_sign = if number == 0.0 { 0.0 } else { number };
        Self::Number(f64::to_bits(zero_has_one_sign))
    }

    pub fn into_owned(self) -> Scalar<'static> {
        match self {
            Self::Text(text) => Scalar::Text(Cow::Owned(text.into_owned())),
            Self::Number(bits) => Scalar::Number(bits),
            Self::Bool(truth) => Scalar::Bool(truth),
            Self::Null => Scalar::Null,
        }
    }
}

fn collect(
    fields: &Map<String, Value>,
    path: &mut Vec<String>,
    tests: &mut Vec<FieldTest>,
) -> Result<(), Fault> {
    for (name, wanted) in fields {
        path.push(name.clone());
        let pointer = format!("/{}", path.join("/"));
        if path.len() > DEPTH_MAX {
            return Err(fault(
                &pointer,
                format!("`match` is at most {DEPTH_MAX} levels deep."),
            ));
        }
        match wanted {
            Value::Array(values) => {
                tests.push(FieldTest {
                    path: path.clone(),
                    any_of: values_of(values, &pointer)?,
                });
            }
            Value::Object(deeper) if deeper.is_empty() => {
                return Err(fault(&pointer, "Name a field in here, or leave it out."));
            }
            Value::Object(deeper) if path[0] == "metadata" => collect(deeper, path, tests)?,
            Value::Object(_) => {
                return Err(fault(
                    &pointer,
                    "Only `metadata` has fields inside; list the values wanted here.",
                ));
            }
            scalar => {
                return Err(fault(
                    &pointer,
                    format!("List the values wanted here: write [{scalar}]."),
                ));
            }
        }
        path.pop();
    }
    Ok(())
}

fn values_of(values: &[Value], pointer: &str) -> Result<Vec<Scalar<'static>>, Fault> {
    if values.is_empty() || values.len() > VALUES_MAX {
        return Err(fault(
            pointer,
            format!("List between 1 and {VALUES_MAX} values."),
        ));
    }
    let scalar = |(index, value): (usize, &Value)| match Scalar::of(value) {
        Some(Scalar::Text(text)) if text.len() > STRING_BYTES_MAX => {
            let detail = format!("A value is at most {STRING_BYTES_MAX} bytes.");
            Err(fault(&format!("{pointer}/{index}"), detail))
        }
        Some(scalar) => Ok(scalar.into_owned()),
        None => Err(fault(
            &format!("{pointer}/{index}"),
            "Only exact values (strings, numbers, true, false, null) can be listed.",
        )),
    };
    values.iter().enumerate().map(scalar).collect()
}

/// Pointers are relative to the rule, so they start at `/match`.
fn fault(pointer: &str, detail: impl Into<String>) -> Fault {
    Fault::invalid(format!("/match{pointer}"), detail)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_reads_back_as_written() {
        let source =
            json!({"event_type": ["tool_call"], "metadata": {"a": {"b": [1, null, true]}}});
        let pattern = Pattern::parse(source.clone()).expect("valid");
        assert_eq!(pattern.tests().len(), 2);
        assert_eq!(Value::from(pattern), source);
    }

    #[test]
    fn what_could_never_match_is_refused_where_it_stands() {
        let long = "x".repeat(300);
        let cases = [
            (json!([]), "/match"),
            (json!({"event_typ": ["x"]}), "/match/event_typ"),
            (json!({"result": "denied"}), "/match/result"),
            (json!({"metadata": {}}), "/match/metadata"),
            (json!({"metadata": {"a": {}}}), "/match/metadata/a"),
            (json!({"result": []}), "/match/result"),
            (json!({"result": [["x"]]}), "/match/result/0"),
            (json!({"result": {"is": ["x"]}}), "/match/result"),
            (json!({"result": ["ok", long]}), "/match/result/1"),
            (
                json!({"metadata": {"a": {"b": {"c": {"d": {"e": {"f": [1]}}}}}}}),
                "/match/metadata/a/b/c/d/e/f",
            ),
        ];
        for (source, pointer) in cases {
            let fault = Pattern::parse(source.clone()).expect_err(&source.to_string());
            assert_eq!(fault.pointer, pointer, "{source}");
        }
    }
}
