//! What an agent is about to send, before an approval or a change of it is relied on.

use domain::fault::Fault;
use serde_json::Value;

use crate::value::{FAULTS_MAX, INTEGERS_MAX, Place};

/// Numbers that are not the ones that were sent, because they have more digits than we can read: two payloads
/// would have one digest, and a changed payload another number. The pointers are within `/payload`.
pub fn faults(payload: &Value) -> Vec<Fault> {
    let mut faults = Vec::new();
    look(payload, &Place::Top("/payload"), &mut faults);
    faults
}

fn look(value: &Value, place: &Place<'_>, faults: &mut Vec<Fault>) {
    match value {
        Value::Number(number) => {
            let is_rounded = number.is_f64()
                && number
                    .as_f64()
                    .is_some_and(|number| number.fract() == 0.0 && number.abs() >= INTEGERS_MAX);
            if is_rounded && faults.len() < FAULTS_MAX {
                let detail =
                    "This number has more digits than can be relied on. Send it as a string.";
                faults.push(Fault::invalid(place.to_string(), detail));
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                look(value, &Place::Item(place, index), faults);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                look(value, &Place::Member(place, name), faults);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
