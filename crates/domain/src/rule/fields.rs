//! Takes the fields of a JSON object one by one, and gathers what is wrong with them.

use serde_json::{Map, Value};

use crate::{
    Timestamp,
    fault::{Fault, FaultCode, pointer_to},
    nearest::nearest,
};

/// What the server knows of a rule and shows beside its definition.
const OF_THE_SERVER: [&str; 7] = [
    "id",
    "created_at",
    "updated_at",
    "created_by",
    "updated_by",
    "version",
    "stats",
];
/// How many fields that are not known are named: nobody reads more, and each is compared with all that are.
const UNKNOWN_NAMED_MAX: usize = 20;
/// A name longer than this is not repeated to the client that sent it.
const FIELD_NAME_BYTES_MAX: usize = 128;

/// The fields of an object as they are taken out of it, and what is wrong with them.
pub(super) struct Fields {
    given: Map<String, Value>,
    /// Where the object stands.
    pointer: String,
    pub(super) faults: Vec<Fault>,
}

impl Fields {
    pub(super) fn new(given: Map<String, Value>, pointer: &str) -> Self {
        Self {
            given,
            pointer: pointer.to_owned(),
            faults: Vec::new(),
        }
    }

    /// A field that is null counts as left out.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.given.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    pub(super) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Value, &str) -> Result<T, Fault>,
    ) -> Option<T> {
        let value = self.take(name)?;
        let read = read(value, &format!("{}/{name}", self.pointer));
        read.map_err(|fault| self.fault(fault)).ok()
    }

    pub(super) fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Value, &str) -> Result<T, Fault>,
    ) -> Option<T> {
        if self.given.get(name).is_none_or(Value::is_null) {
            let missing = Fault::required(name).under(&self.pointer);
            self.fault(missing);
        }
        self.optional(name, read)
    }

    /// A list, each element of which is read by itself; what is wrong in it is all said.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        most: usize,
        read: impl Fn(Value, &str) -> Result<T, Vec<Fault>>,
    ) -> Vec<T> {
        let pointer = format!("{}/{name}", self.pointer);
        let values = match self.take(name) {
            None => return Vec::new(),
            Some(Value::Array(values)) if values.len() <= most => values,
            Some(Value::Array(_)) => {
                let detail = format!("`{name}` can have at most {most} elements.");
                self.fault(Fault::new(FaultCode::FieldTooLong, pointer, detail));
                return Vec::new();
            }
            Some(_) => {
                self.fault(Fault::invalid(pointer, format!("`{name}` must be a list.")));
                return Vec::new();
            }
        };
        let mut elements = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            match read(value, &format!("{pointer}/{index}")) {
                Ok(element) => elements.push(element),
                Err(faults) => self.faults.extend(faults),
            }
        }
        elements
    }

    /// An object inside.
    pub(super) fn inner<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let given = self.optional(name, |value, pointer| match value {
            Value::Object(given) => Ok(given),
            _ => Err(Fault::invalid(
                pointer,
                format!("`{name}` must be an object."),
            )),
        })?;
        let mut inside = Self::new(given, &format!("{}/{name}", self.pointer));
        let read = read(&mut inside);
        self.faults.append(&mut inside.faults);
        read
    }

    /// What was not taken out is not a field of `what`.
    pub(super) fn refuse_others(&mut self, what: &str, known: &[&str]) {
        let others = std::mem::take(&mut self.given);
        for name in others.keys().take(UNKNOWN_NAMED_MAX) {
            let fault = unknown(name, what, known).under(&self.pointer);
            self.fault(fault);
        }
        if let Some(more @ 1..) = others.len().checked_sub(UNKNOWN_NAMED_MAX) {
            let detail = format!("{more} other names here are not fields of {what} either.");
            let pointer = self.pointer.clone();
            self.fault(Fault::new(FaultCode::FieldUnknown, pointer, detail));
        }
    }
}

fn unknown(name: &str, what: &str, known: &[&str]) -> Fault {
    if name.len() > FIELD_NAME_BYTES_MAX {
        let detail = format!("A name this long is not a field of {what}.");
        return Fault::new(FaultCode::FieldUnknown, "", detail);
    }
    let detail = match nearest(name, known.iter().copied()) {
        _ if OF_THE_SERVER.contains(&name) => {
            format!("`{name}` is set by the server; leave it out.")
        }
        Some(meant) => format!("`{name}` is not a field of {what}; did you mean `{meant}`?"),
        None => {
            let known = known.join(", ");
            format!("`{name}` is not a field of {what}. Fields: {known}.")
        }
    };
    Fault::new(FaultCode::FieldUnknown, pointer_to(name), detail)
}

/// What a fault at this pointer calls the field.
fn field_of(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or_default()
}

pub(super) fn text(value: Value, pointer: &str) -> Result<String, Fault> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(Fault::invalid(pointer, "This must be a string.")),
    }
}

pub(super) fn bounded(value: Value, pointer: &str, bytes_max: usize) -> Result<String, Fault> {
    let text = text(value, pointer)?;
    if text.len() > bytes_max {
        let detail = format!("`{}` can be at most {bytes_max} bytes.", field_of(pointer));
        return Err(Fault::new(FaultCode::FieldTooLong, pointer, detail));
    }
    Ok(text)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it reads as every other reader of a field does"
)]
pub(super) fn truth(value: Value, pointer: &str) -> Result<bool, Fault> {
    match value {
        Value::Bool(truth) => Ok(truth),
        _ => {
            let detail = format!("`{}` must be true or false.", field_of(pointer));
            Err(Fault::invalid(pointer, detail))
        }
    }
}

pub(super) fn number(value: Value, pointer: &str, least: u32, most: u32) -> Result<u32, Fault> {
    let number = match value {
        Value::Number(number) => number
            .as_u64()
            .and_then(|number| u32::try_from(number).ok()),
        _ => None,
    };
    let in_bounds = number.filter(|number| (least..=most).contains(number));
    in_bounds.ok_or_else(|| {
        let field = field_of(pointer);
        let detail = format!("`{field}` must be a whole number from {least} to {most}.");
        Fault::invalid(pointer, detail)
    })
}

pub(super) fn moment(value: Value, pointer: &str) -> Result<Timestamp, Fault> {
    let text = text(value, pointer)?;
    Timestamp::parse(&text).ok_or_else(|| {
        let field = field_of(pointer);
        let detail =
            format!("`{field}` must be an RFC 3339 date-time such as 2026-11-15T09:30:00.125Z.");
        Fault::invalid(pointer, detail)
    })
}
