//! Reads one of the things listed for a field: a plain value, or an operator with what it is given.

use serde_json::Value;

use super::{
    STARS_MAX, STRING_BYTES_MAX, VALUES_MAX,
    glob::Glob,
    network::Network,
    part::Part,
    predicate::{But, Predicate},
    range::Range,
    read::{cut, shown},
    scalar::Scalar,
};
use crate::{
    fault::{Fault, FaultCode, pointer_to},
    nearest::nearest,
};

/// Every operator.
pub(super) const OPERATORS: [&str; 9] = [
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

/// What people write who know other languages, and what it is called here.
const CALLED_ELSEWHERE: [(&str, &str); 14] = [
    ("starts-with", "write {\"prefix\": \"...\"}"),
    ("startswith", "write {\"prefix\": \"...\"}"),
    ("ends-with", "write {\"suffix\": \"...\"}"),
    ("endswith", "write {\"suffix\": \"...\"}"),
    ("equals", "for equality, put the plain value in the list"),
    ("eq", "for equality, put the plain value in the list"),
    ("in", "for alternatives, put the plain values in the list"),
    ("not", "write {\"anything-but\": [...]}"),
    ("neq", "write {\"anything-but\": [...]}"),
    (
        "regex",
        "regular expressions are not supported; write {\"wildcard\": \"a*b\"}",
    ),
    ("gt", "write {\"numeric\": [\">\", 5]}"),
    ("gte", "write {\"numeric\": [\">=\", 5]}"),
    ("lt", "write {\"numeric\": [\"<\", 5]}"),
    ("lte", "write {\"numeric\": [\"<=\", 5]}"),
];

/// Pointers of faults start at the value.
pub(super) fn read(value: &Value) -> Result<Predicate, Fault> {
    match value {
        Value::Object(object) => {
            let mut operators = object.iter();
            match (operators.next(), operators.next()) {
                (Some((name, operand)), None) => operator(name, operand),
                (None, _) => Err(Fault::invalid("", "Name an operator: {\"prefix\": \"a\"}.")),
                (Some(_), Some(_)) => Err(Fault::invalid(
                    "",
                    "Use one operator per object; one match in the list is enough: write \
                     [{\"prefix\": \"a\"}, {\"suffix\": \"b\"}].",
                )),
            }
        }
        Value::Array(_) => Err(Fault::invalid(
            "",
            "A list inside a list has no meaning; leave out the inner brackets.",
        )),
        _ => scalar(value).map(Predicate::Is),
    }
}

fn operator(name: &str, operand: &Value) -> Result<Predicate, Fault> {
    let text = || text(name, operand);
    let read = match name {
        "prefix" => text().map(|text| Predicate::Prefix(text.into())),
        "suffix" => text().map(|text| Predicate::Suffix(text.into())),
        "contains" => text().map(|text| Predicate::Contains(Part::new(text))),
        "equals-ignore-case" => text().map(|text| Predicate::EqualsIgnoreCase(text.into())),
        "wildcard" => text().and_then(wildcard),
        "anything-but" => anything_but(operand),
        "numeric" => Range::parse(operand).map(Predicate::Numeric),
        "exists" => exists(operand),
        "cidr" => text()
            .and_then(|text| Network::parse(text).map_err(|detail| Fault::invalid("", detail)))
            .map(Predicate::Cidr),
        unknown => return Err(unknown_operator(unknown)),
    };
    read.map_err(|fault| fault.under(&pointer_to(name)))
}

fn text<'v>(name: &str, operand: &'v Value) -> Result<&'v str, Fault> {
    match operand {
        Value::String(text) if text.is_empty() => Err(Fault::invalid(
            "",
            format!("`{name}` needs a value; to match any value, write {{\"exists\": true}}."),
        )),
        Value::String(text) => in_bounds(text).map(|()| text.as_str()),
        Value::Array(_) => Err(Fault::invalid(
            "",
            format!(
                "`{name}` takes one string; for several, write [{{\"{name}\": \"a\"}}, {{\"{name}\": \"b\"}}]."
            ),
        )),
        other => Err(Fault::invalid(
            "",
            format!(
                "`{name}` takes a string in quotes; {} has none.",
                shown(other)
            ),
        )),
    }
}

fn in_bounds(text: &str) -> Result<(), Fault> {
    if text.len() <= STRING_BYTES_MAX {
        return Ok(());
    }
    let detail = format!(
        "A string can be at most {STRING_BYTES_MAX} bytes; this one has {}.",
        text.len()
    );
    Err(Fault::new(FaultCode::FieldTooLong, "", detail))
}

fn scalar(value: &Value) -> Result<Scalar<'static>, Fault> {
    if let Value::String(text) = value {
        in_bounds(text)?;
    }
    let detail = "A plain value is expected here: a string, a number, true, false or null.";
    let scalar = Scalar::of(value).ok_or_else(|| Fault::invalid("", detail))?;
    Ok(scalar.into_owned())
}

fn wildcard(text: &str) -> Result<Predicate, Fault> {
    let mut stars = 0;
    let mut before = None;
    for (place, letter) in (1..).zip(text.chars()) {
        let is_star = letter == '*';
        if is_star && before == Some('*') {
            let detail = format!("The `*` at character {place} follows another; leave it out.");
            return Err(Fault::invalid("", detail));
        }
        stars += usize::from(is_star);
        if stars > STARS_MAX {
            let detail = format!(
                "A wildcard can have at most {STARS_MAX} `*`; the one at character {place} is too \
                 many."
            );
            return Err(Fault::invalid("", detail));
        }
        before = Some(letter);
    }
    Ok(Predicate::Wildcard(Glob::new(text)))
}

fn anything_but(operand: &Value) -> Result<Predicate, Fault> {
    let but = match operand {
        Value::Object(object) => {
            let mut operators = object.iter();
            let (Some((name, inside)), None) = (operators.next(), operators.next()) else {
                let detail =
                    "Write {\"anything-but\": {\"prefix\": \"a\"}}, with one operator inside.";
                return Err(Fault::invalid("", detail));
            };
            let text = || text(name, inside).map_err(|fault| fault.under(&pointer_to(name)));
            match name.as_str() {
                "prefix" => But::Prefix(text()?.into()),
                "suffix" => But::Suffix(text()?.into()),
                _ => {
                    let detail =
                        "Inside `anything-but`, use `prefix`, `suffix` or a list of values.";
                    return Err(Fault::invalid(pointer_to(name), detail));
                }
            }
        }
        Value::Array(values) if values.is_empty() || values.len() > VALUES_MAX => {
            let detail = format!("List between 1 and {VALUES_MAX} values to exclude.");
            return Err(Fault::invalid("", detail));
        }
        Value::Array(values) => {
            let mut but = Vec::new();
            for (place, value) in values.iter().enumerate() {
                but.push(scalar(value).map_err(|fault| fault.under(&format!("/{place}")))?);
            }
            But::Values(but)
        }
        value => But::Values(vec![scalar(value)?]),
    };
    Ok(Predicate::AnythingBut(but))
}

fn exists(operand: &Value) -> Result<Predicate, Fault> {
    match operand {
        Value::Bool(wanted) => Ok(Predicate::Exists(*wanted)),
        _ => Err(Fault::invalid(
            "",
            "`exists` must be true or false, without quotes.",
        )),
    }
}

fn unknown_operator(name: &str) -> Fault {
    let quoted = cut(name);
    let plain = name.to_lowercase().replace(['_', ' '], "-");
    let elsewhere = CALLED_ELSEWHERE.iter().find(|(other, _)| *other == plain);
    let detail = if let Some((_, instead)) = elsewhere {
        format!("`{quoted}` is not an operator; {instead}.")
    } else if let Some(operator) = nearest(name, OPERATORS) {
        format!("`{quoted}` is not an operator; did you mean `{operator}`?")
    } else {
        format!(
            "`{quoted}` is not an operator. Operators: {}.",
            OPERATORS.join(", ")
        )
    };
    Fault::new(FaultCode::FieldUnknown, pointer_to(name), detail)
}
