//! What an agent is about to send, before an approval or a change of it is relied on.

use std::io;

use domain::fault::Fault;
use serde::Serialize;
use serde_json::Value;

use crate::value::{FAULTS_MAX, INTEGERS_MAX, Place};

/// How many bytes of it, as JSON, policies see at the most: every policy that looks there costs a question as many
/// steps more. What is larger is cut (`fit.rs`), unless a schema declares a part that fits.
pub const SEEN_BYTES_MAX: usize = 4 * 1024;

/// How many bytes of it policies see, at the most.
pub(crate) fn seen_bytes(payload: &Value) -> usize {
    bytes_up_to(payload, SEEN_BYTES_MAX)
}

/// How many bytes a value has as JSON, counted up to so many.
pub fn bytes_up_to(value: &impl Serialize, most: usize) -> usize {
    let mut left = Left(most);
    match serde_json::to_writer(&mut left, value) {
        Ok(()) => most - left.0,
        Err(_) => most,
    }
}

/// Room that is counted down as somebody writes; they fail at its end.
struct Left(usize);

impl io::Write for Left {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or(io::ErrorKind::WriteZero)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

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
                    "This number has more digits than can be kept exactly. Send it as a string.";
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_policies_see_of_a_payload_is_counted_up_to_its_bound() {
        assert_eq!(seen_bytes(&json!({"a": 1})), 7);
        assert_eq!(
            seen_bytes(&json!("x".repeat(SEEN_BYTES_MAX - 2))),
            SEEN_BYTES_MAX
        );
        assert_eq!(seen_bytes(&json!("x".repeat(100_000))), SEEN_BYTES_MAX);
    }
}
