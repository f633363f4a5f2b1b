//! What each field of an event may hold.

use super::{
    EventView, METADATA_BYTES_MAX, NAME_CHARS_MAX, RESOURCE_CHARS_MAX, metadata,
    view::{Raw, text},
};
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
    value: Option<Raw<'_>>,
    rule: &str,
    holds: impl Fn(&str) -> bool,
) -> Result<(), Fault> {
    value.ok_or_else(|| Fault::required(field))?;
    optional(field, value, rule, holds)
}

/// The same for a string that may be absent.
pub(super) fn optional(
    field: &str,
    value: Option<Raw<'_>>,
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

/// What is wrong with who does what to what, as an event is going to say it: the first fault that the door would find.
pub fn fault_of_call(agent_id: &str, action: &str, resource: Option<&str>) -> Option<Fault> {
    let is_resource = |resource| is_short(resource, RESOURCE_CHARS_MAX);
    let (field, rule) = if !is_short(agent_id, NAME_CHARS_MAX) {
        ("agent_id", "a string of 1 to 128 characters")
    } else if !is_action(action) {
        ("action", "a dotted name such as files.delete (at most 128)")
    } else if !resource.is_none_or(is_resource) {
        ("resource", "a string of 1 to 256 characters")
    } else {
        return None;
    };
    let detail = format!("`{field}` must be {rule}.");
    Some(Fault::invalid(pointer_to(field), detail))
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
pub(super) fn moment(value: Option<Raw<'_>>, pointer: &str) -> Result<Option<Timestamp>, Fault> {
    let Some(raw) = value else { return Ok(None) };
    let at = text(raw).and_then(|text| Timestamp::parse(&text));
    at.map(Some).ok_or_else(|| {
        let field = pointer.rsplit('/').next().unwrap_or_default();
        let detail =
            format!("`{field}` must be an RFC 3339 date-time such as 2026-11-15T09:30:00.125Z.");
        Fault::invalid(pointer, detail)
    })
}

pub(super) fn latency(value: Option<Raw<'_>>) -> Result<(), Fault> {
    let Some(raw) = value else { return Ok(()) };
    match serde_json::from_str::<f64>(raw.get()) {
        Ok(number) if number >= 0.0 => Ok(()),
        _ => Err(Fault::invalid(
            "/latency_ms",
            "`latency_ms` must be a number, 0 or more.",
        )),
    }
}

pub(super) fn metadata(event: &EventView<'_>) -> Result<(), Fault> {
    let Some(raw) = event.metadata else {
        return Ok(());
    };
    if raw.get().len() > METADATA_BYTES_MAX {
        let detail = format!("`metadata` can be at most {METADATA_BYTES_MAX} bytes.");
        return Err(Fault::new(FaultCode::FieldTooLong, "/metadata", detail));
    }
    if event.has_sound_metadata {
        return Ok(());
    }
    metadata::check(raw.get())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::{
        OrgId,
        event::{Sent, Source, accept, accept::Arrival},
        id::Tail,
    };

    #[test]
    fn who_does_what_to_what_is_checked_as_at_the_door() {
        let long = "x".repeat(257);
        let agents = ["a", "", "a\0", &long[..128], &long[..129], "\u{e9}"];
        let actions = ["a.b", "", "a", ".", "a..b", "a b.c", "A-1.b_2.c", &long];
        let resources = [None, Some("file:1"), Some(""), Some("a\0"), Some(&*long)];
        let resources = resources.into_iter().chain([Some(&long[..256])]);
        let arrival = Arrival {
            org: OrgId::from_uuid(uuid::Uuid::nil()),
            source: Source::Server,
            received_at: Timestamp::default(),
            retention: Duration::ZERO,
        };
        let mut faults = 0;
        for resource in resources {
            for (agent_id, action) in agents
                .iter()
                .flat_map(|agent| actions.map(|one| (*agent, one)))
            {
                let mut event = json!({
                    "event_type": "decision", "agent_id": agent_id, "action": action, "result": "allowed",
                });
                if let Some(resource) = resource {
                    event["resource"] = resource.into();
                }
                let event = event.to_string();
                let (sent, tail) = (Sent::bare(&event), Tail::Random([0; 10]));
                let accepted = accept(&sent, &arrival, tail, &mut String::new());
                let fault = fault_of_call(agent_id, action, resource);
                assert_eq!(accepted.err(), fault, "{event}");
                faults += usize::from(fault.is_some());
            }
        }
        assert!((200..288).contains(&faults), "{faults} faults");
    }
}
