//! What each field of an event may hold.

use serde_json::value::RawValue;

use super::{METADATA_BYTES_MAX, NAME_CHARS_MAX, metadata, view::text};
use crate::{
    fault::{Fault, FaultCode, pointer_to},
    timestamp::Timestamp,
};

/// What an id must be that an event refers to.
pub(super) const ID_RULE: &str = "a string of 1 to 128 characters";

/// How serious an event can be, the least first.
pub const SEVERITIES: [&str; 5] = ["info", "low", "medium", "high", "critical"];

/// A required string that `holds`; `rule` says in words what it must be.
pub(super) fn required(
    field: &str,
    value: Option<&RawValue>,
    rule: &str,
    holds: impl Fn(&str) -> bool,
) -> Result<(), Fault> {
    value.ok_or_else(|| Fault::required(field))?;
    optional(field, value, rule, holds)
}

/// The same for a string that may be absent.
pub(super) fn optional(
    field: &str,
    value: Option<&RawValue>,
    rule: &str,
    holds: impl Fn(&str) -> bool,
) -> Result<(), Fault> {
    match value {
        None => Ok(()),
        Some(raw) => match text(raw) {
            Some(text) if holds(&text) => Ok(()),
            _ => Err(Fault::invalid(
                pointer_to(field),
                format!("`{field}` must be {rule}."),
            )),
        },
    }
}

/// What is wrong with an id that an event is going to refer to, such as its `session_id`: what cannot be recorded is
/// refused before anything is done.
pub fn fault_of_id(field: &str, id: &str) -> Option<Fault> {
    let fault = || Fault::invalid(pointer_to(field), format!("`{field}` must be {ID_RULE}."));
    (!is_short(id, NAME_CHARS_MAX)).then(fault)
}

/// `^[a-z][a-z0-9_]*$`, at most `most` long.
pub(crate) fn is_name(text: &str, most: usize) -> bool {
    text.len() <= most
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// `<area>.<verb>`: two or more segments of letters, digits, `_` and `-`.
pub(crate) fn is_action(text: &str) -> bool {
    let is_segment = |segment: &str| {
        !segment.is_empty()
            && segment
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    text.len() <= 128 && text.contains('.') && text.split('.').all(is_segment)
}

/// Between one and `most` characters, none of them NUL: PostgreSQL text cannot hold it.
pub(crate) fn is_short(text: &str, most: usize) -> bool {
    !text.is_empty() && text.chars().count() <= most && !text.contains('\0')
}

pub(crate) fn is_severity(text: &str) -> bool {
    SEVERITIES.contains(&text)
}

/// A date-time; `pointer` says where it stands.
pub(super) fn moment(value: Option<&RawValue>, pointer: &str) -> Result<Option<Timestamp>, Fault> {
    let Some(raw) = value else { return Ok(None) };
    let at = text(raw).and_then(|text| Timestamp::parse(&text));
    at.map(Some).ok_or_else(|| {
        let field = pointer.rsplit('/').next().unwrap_or_default();
        let detail =
            format!("`{field}` must be an RFC 3339 date-time such as 2026-11-15T09:30:00.125Z.");
        Fault::invalid(pointer, detail)
    })
}

pub(super) fn latency(value: Option<&RawValue>) -> Result<(), Fault> {
    let Some(raw) = value else { return Ok(()) };
    match serde_json::from_str::<f64>(raw.get()) {
        Ok(number) if number >= 0.0 => Ok(()),
        _ => Err(Fault::invalid(
            "/latency_ms",
            "`latency_ms` must be a number, 0 or more.",
        )),
    }
}

pub(super) fn metadata(value: Option<&RawValue>) -> Result<(), Fault> {
    let Some(raw) = value else { return Ok(()) };
    if raw.get().len() > METADATA_BYTES_MAX {
        let detail = format!("`metadata` can be at most {METADATA_BYTES_MAX} bytes.");
        return Err(Fault::new(FaultCode::FieldTooLong, "/metadata", detail));
    }
    metadata::check(raw.get())
}
