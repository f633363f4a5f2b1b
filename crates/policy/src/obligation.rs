//! What must be changed in a payload before it may be used: a JSON patch (RFC 6902) that a policy
//! brings as `@obligation`.

use json_patch::{Patch, PatchOperation, patch_unsafe};
use serde_json::Value;

/// How many changes one policy may ask for.
pub const OPERATIONS_MAX: usize = 50;

/// How deep a change may reach, and how deep its value may nest. Changes of several policies add up,
/// and JSON is written by recursion.
pub const DEPTH_MAX: usize = 32;

/// How long a changed payload may be. Payloads arrive in requests of 64 KiB; a change may add to them.
pub const MODIFIED_BYTES_MAX: usize = 128 * 1024;

/// Changes that must be made.
#[derive(Debug)]
pub(crate) struct Obligation {
    operations: Vec<PatchOperation>,
}

impl Obligation {
    /// Or what is wrong with the text.
    pub fn read(text: &str) -> Result<Self, String> {
        let example = r#"like [{"op": "remove", "path": "/card"}]"#;
        let patch: Patch = serde_json::from_str(text)
            .map_err(|error| format!("@obligation must be a JSON patch {example}: {error}."))?;
        let operations = patch.0;
        if !(1..=OPERATIONS_MAX).contains(&operations.len()) {
            return Err(format!(
                "@obligation must have 1 to {OPERATIONS_MAX} operations."
            ));
        }
        for operation in &operations {
            let value = match operation {
                PatchOperation::Add(add) => &add.value,
                PatchOperation::Replace(replace) => &replace.value,
                PatchOperation::Remove(remove) if remove.path.is_root() => {
                    return Err(
                        "@obligation cannot remove the whole payload. Use forbid instead."
                            .to_owned(),
                    );
                }
                PatchOperation::Remove(_) => &Value::Null,
                PatchOperation::Move(_) | PatchOperation::Copy(_) | PatchOperation::Test(_) => {
                    return Err(
                        "@obligation supports only `add`, `remove` and `replace`.".to_owned()
                    );
                }
            };
            if operation.path().count() > DEPTH_MAX || depth(value) > DEPTH_MAX {
                return Err(format!("@obligation may reach at most {DEPTH_MAX} deep."));
            }
        }
        Ok(Self { operations })
    }

    /// Makes the changes, or says what could not be done; then the payload is not to be used.
    pub fn apply(&self, payload: &mut Value) -> Result<(), String> {
        for operation in &self.operations {
            // What is not there needs no removing.
            if let PatchOperation::Remove(remove) = operation
                && payload.pointer(remove.path.as_str()).is_none()
            {
                continue;
            }
            patch_unsafe(payload, std::slice::from_ref(operation))
                .map_err(|error| format!("`{}`: {}", operation.path(), error.kind))?;
        }
        Ok(())
    }
}

/// Whether a payload is short enough to be an answer.
pub(crate) fn fits(payload: &Value) -> bool {
    payload.to_string().len() <= MODIFIED_BYTES_MAX
}

fn depth(value: &Value) -> usize {
    let within = match value {
        Value::Array(values) => values.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    1 + within.unwrap_or(0)
}
