//! Reads a pattern out of its JSON, field by field; what is wrong is said where it stands.

use std::io;

use serde_json::{Map, Value};

use super::{
    BRANCHES_MAX, Conditions, DEPTH_MAX, FIELDS_MAX, FieldTest, SOURCE_BYTES_MAX, STRING_BYTES_MAX,
    VALUES_MAX,
    operator::{self, OPERATORS},
    predicate::Predicate,
};
use crate::{
    event::EventView,
    fault::{Fault, FaultCode, pointer_to},
    nearest::nearest,
};

/// The key under which patterns are listed of which one is enough.
const OR: &str = "$or";

/// Pointers of faults start at the pattern.
pub(super) fn conditions(source: &Value) -> Result<Conditions, Fault> {
    // First of all, so that nothing below works on more than that.
    if is_longer_than(source, SOURCE_BYTES_MAX) {
        let detail = format!(
            "A pattern can be at most {SOURCE_BYTES_MAX} bytes; create several rules, or list fewer values."
        );
        return Err(Fault::new(FaultCode::FieldTooLong, "", detail));
    }
    let Value::Object(fields) = source else {
        let detail = "A pattern is an object that lists the wanted values of each field: write \
                      {\"event_type\": [\"tool_call\"]}.";
        return Err(Fault::invalid("", detail));
    };
    let read = Conditions {
        all: tests(fields)?,
        any: branches(fields.get(OR))?,
    };
    if read.tests().count() > FIELDS_MAX {
        let detail =
            format!("A pattern can name at most {FIELDS_MAX} fields, including those in `$or`.");
        return Err(Fault::invalid("", detail));
    }
    Ok(read)
}

fn branches(or: Option<&Value>) -> Result<Vec<Vec<FieldTest>>, Fault> {
    let Some(or) = or else { return Ok(Vec::new()) };
    let fault =
        |pointer: &str, detail: String| Err(Fault::invalid(format!("/{OR}{pointer}"), detail));
    let Value::Array(patterns) = or else {
        return fault("", format!("`{OR}` lists patterns: write [{or}]."));
    };
    if patterns.is_empty() || patterns.len() > BRANCHES_MAX {
        return fault("", format!("List between 1 and {BRANCHES_MAX} patterns."));
    }
    let mut branches = Vec::new();
    for (place, pattern) in patterns.iter().enumerate() {
        let pointer = format!("/{place}");
        let Value::Object(fields) = pattern else {
            return fault(
                &pointer,
                "A pattern is expected here, such as {\"result\": [\"denied\"]}.".to_owned(),
            );
        };
        if fields.is_empty() {
            let detail = format!("This pattern matches every event; leave out `{OR}`.");
            return fault(&pointer, detail);
        }
        if fields.contains_key(OR) {
            let detail =
                format!("`{OR}` is allowed only at the top level; list these patterns there.");
            return fault(&format!("{pointer}/{OR}"), detail);
        }
        branches.push(tests(fields).map_err(|fault| fault.under(&format!("/{OR}{pointer}")))?);
    }
    Ok(branches)
}

/// The tests of a pattern but for those in `$or`, the cheapest first.
fn tests(fields: &Map<String, Value>) -> Result<Vec<FieldTest>, Fault> {
    let mut tests = Vec::new();
    for (name, wanted) in fields.iter().filter(|(name, _)| *name != OR) {
        if !EventView::FIELDS.contains(&name.as_str()) {
            return Err(unknown_field(name, wanted));
        }
        field(&mut vec![name.as_str().into()], wanted, &mut tests)
            .map_err(|fault| fault.under(&pointer_to(name)))?;
    }
    // Two patterns that say the same are equal, in whatever order they say it.
    tests.sort_by(|one, other| (one.cost(), &one.path).cmp(&(other.cost(), &other.path)));
    Ok(tests)
}

/// Reads what is wanted of a field or, inside `metadata`, of the fields in it.
fn field(
    path: &mut Vec<Box<str>>,
    wanted: &Value,
    tests: &mut Vec<FieldTest>,
) -> Result<(), Fault> {
    match wanted {
        Value::Array(values) => tests.push(FieldTest {
            path: path.clone(),
            any_of: any_of(values)?,
        }),
        Value::Object(inside) if &*path[0] != "metadata" => {
            let is_operator = inside.keys().all(|key| OPERATORS.contains(&key.as_str()));
            return Err(Fault::invalid(
                "",
                if is_operator && !inside.is_empty() {
                    format!("List the wanted values here: write [{wanted}].")
                } else {
                    "Only `metadata` has nested fields; list the wanted values here: write [\"a\", \"b\"].".to_owned()
                },
            ));
        }
        Value::Object(inside) if inside.is_empty() => {
            return Err(Fault::invalid("", "Name a field in here, or leave it out."));
        }
        Value::Object(inside) => {
            for (key, wanted) in inside {
                path.push(key.as_str().into());
                key_inside(key, path.len())
                    .and_then(|()| field(path, wanted, tests))
                    .map_err(|fault| fault.under(&pointer_to(key)))?;
                path.pop();
            }
        }
        scalar => return Err(not_a_list(path.last().map_or("", |key| key), scalar)),
    }
    Ok(())
}

/// What is wrong with a key inside `metadata` that stands so deep, if anything is.
fn key_inside(key: &str, depth: usize) -> Result<(), Fault> {
    let detail = if depth > DEPTH_MAX {
        format!("A field can be at most {DEPTH_MAX} levels deep, including `metadata`.")
    } else if key.len() > STRING_BYTES_MAX {
        format!("A key can be at most {STRING_BYTES_MAX} bytes.")
    } else if key == OR {
        format!("`{OR}` is allowed only at the top level, next to `metadata`.")
    } else {
        return Ok(());
    };
    Err(Fault::invalid("", detail))
}

fn any_of(values: &[Value]) -> Result<Vec<Predicate>, Fault> {
    if values.is_empty() || values.len() > VALUES_MAX {
        let detail = format!("List between 1 and {VALUES_MAX} values; one of them is enough.");
        return Err(Fault::invalid("", detail));
    }
    let mut any_of = Vec::new();
    for (place, value) in values.iter().enumerate() {
        any_of.push(operator::read(value).map_err(|fault| fault.under(&format!("/{place}")))?);
    }
    any_of.sort_by_key(Predicate::cost);
    Ok(any_of)
}

fn not_a_list(key: &str, scalar: &Value) -> Fault {
    // `{"amount": {"exists": true}}`: the brackets around the operator are missing.
    let detail = if OPERATORS.contains(&key) {
        format!(
            "If `{key}` is the operator, put it in a list: write [{{\"{key}\": {}}}].",
            shown(scalar)
        )
    } else {
        format!("List the wanted values here: write [{}].", shown(scalar))
    };
    Fault::invalid("", detail)
}

fn unknown_field(name: &str, wanted: &Value) -> Fault {
    let quoted = cut(name);
    let detail = if let Some(inside) = name.strip_prefix("metadata.") {
        let inside = cut(inside);
        format!(
            "Nest the fields inside `metadata`: write {{\"metadata\": {{\"{inside}\": {}}}}}.",
            shown(wanted)
        )
    } else if name.starts_with('$') {
        format!("`{quoted}` is unknown; `{OR}` is the only one of its kind.")
    } else if let Some(field) = nearest(name, EventView::FIELDS.iter().copied()) {
        format!("`{quoted}` is not a field of an event; did you mean `{field}`?")
    } else {
        format!(
            "`{quoted}` is not a field of an event; if it is your own field, put it under `metadata`. Fields: {}.",
            EventView::FIELDS.join(", ")
        )
    };
    Fault::new(FaultCode::FieldUnknown, pointer_to(name), detail)
}

/// How much of what somebody wrote is repeated to them.
const SHOWN_CHARS_MAX: usize = 64;

/// A name, in bounds.
pub(super) fn cut(name: &str) -> String {
    match name.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// A value as JSON, or dots if that is long.
pub(super) fn shown(value: &Value) -> String {
    let json = value.to_string();
    if json.chars().count() > SHOWN_CHARS_MAX {
        return "...".to_owned();
    }
    json
}

/// Whether the JSON is longer; found out without writing more of it than that.
pub(in crate::rule) fn is_longer_than(value: &Value, bytes_max: usize) -> bool {
    serde_json::to_writer(Room(bytes_max), value).is_err()
}

/// Takes so many bytes and no more.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
