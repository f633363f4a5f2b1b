//! What is wrong with a piece of input, and where: a JSON pointer, a stable code, a sentence.

use serde::Serialize;

use crate::query;

/// One thing wrong with what a client sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{pointer}: {detail}")]
pub struct Fault {
    pub code: FaultCode,
    /// RFC 6901 pointer to the place, `""` for the whole document.
    pub pointer: String,
    /// What was expected there, and what to do next.
    pub detail: String,
    /// Which part of the text there is wrong, if it is a query.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// A part of a text that somebody sent, so that it can be underlined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// In characters, counted from 0.
    pub start: usize,
    /// Behind the last character; where something is missing, the same as `start`.
    pub end: usize,
    /// What to write in its place, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

/// The closed set of things that can be wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FaultCode {
    FieldRequired,
    FieldInvalid,
    FieldUnknown,
    FieldDuplicated,
    FieldTooLong,
    EventTooLarge,
    NotAnObject,
}

impl FaultCode {
    pub const ALL: [Self; 7] = [
        Self::FieldRequired,
        Self::FieldInvalid,
        Self::FieldUnknown,
        Self::FieldDuplicated,
        Self::FieldTooLong,
        Self::EventTooLarge,
        Self::NotAnObject,
    ];
}

impl Fault {
    pub fn new(code: FaultCode, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            code,
            pointer: pointer.into(),
            detail: detail.into(),
            part: None,
        }
    }

    /// A query that cannot be read, in the text at this place.
    pub fn of_query(pointer: impl Into<String>, text: &str, error: &query::Error) -> Self {
        let start = error.position(text) - 1;
        Self {
            part: Some(Part {
                start,
                end: start + error.length(text),
                instead: error.instead.clone(),
            }),
            ..Self::invalid(pointer, error.detail.as_str())
        }
    }

    pub fn required(field: &str) -> Self {
        Self::new(
            FaultCode::FieldRequired,
            pointer_to(field),
            format!("`{field}` is required."),
        )
    }

    pub fn invalid(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FaultCode::FieldInvalid, pointer, detail)
    }

    /// The same fault, seen from above: its pointer starts with that of where it was found.
    pub fn under(self, pointer: &str) -> Self {
        Self {
            pointer: format!("{pointer}{}", self.pointer),
            ..self
        }
    }

    /// What is wrong with the `name` that people give a thing, if anything is.
    pub fn of_name(name: &str, chars_max: usize) -> Option<Self> {
        let is_name =
            !name.trim().is_empty() && name.chars().count() <= chars_max && !name.contains('\0');
        let detail = || format!("`name` must be 1 to {chars_max} characters.");
        (!is_name).then(|| Self::invalid("/name", detail()))
    }
}

/// The RFC 6901 pointer to a top-level field.
pub fn pointer_to(field: &str) -> String {
    format!("/{}", field.replace('~', "~0").replace('/', "~1"))
}
