//! CloudEvents 1.0, structured: the audit event is `data`, in an envelope that may name and date it.
//!
//! Attributes that we do not know are extensions, which the standard allows; they are not kept.

use std::borrow::Cow;

use serde::{Deserialize, de::DeserializeSeed as _};
use serde_json::value::RawValue;

use super::{Read, Unreadable, elements::Elements};
use crate::{
    event::{
        Sent,
        accept::Envelope,
        view::{Raw, reason, text},
    },
    fault::{Fault, FaultCode, pointer_to},
};

/// The body is one CloudEvent.
pub(super) fn read_one(body: &str) -> Result<Read<'_>, Unreadable> {
    let one: &RawValue = serde_json::from_str(body).map_err(|source| Unreadable::NotJson {
        expected: "JSON (one CloudEvent)",
        source,
    })?;
    let mut read = Read::default();
    read.push(|| event(one));
    Ok(read)
}

/// The body is an array of CloudEvents.
pub(super) fn read_many(body: &str) -> Result<Read<'_>, Unreadable> {
    let mut deserializer = serde_json::Deserializer::from_str(body);
    Elements(event)
        .deserialize(&mut deserializer)
        .and_then(|read| deserializer.end().map(|()| read))
        .map_err(|source| Unreadable::NotJson {
            expected: "a JSON array of CloudEvents",
            source,
        })
}

/// What we look at; an attribute that is `null` is absent, as the standard says.
#[derive(Deserialize)]
struct CloudEvent<'a> {
    #[serde(borrow)]
    specversion: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
    #[serde(borrow)]
    r#type: Option<&'a RawValue>,
    #[serde(borrow)]
    time: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    data_base64: Option<&'a RawValue>,
}

fn event(raw: &RawValue) -> Result<Sent<'_>, Fault> {
    let cloud: CloudEvent<'_> = serde_json::from_str(raw.get()).map_err(|error| {
        let detail = format!(
            "A CloudEvent must be one JSON object; reading it failed: {}.",
            reason(&error)
        );
        Fault::new(FaultCode::NotAnObject, "", detail)
    })?;
    if required("specversion", cloud.specversion)? != "1.0" {
        return Err(Fault::invalid(
            "/specversion",
            "`specversion` must be \"1.0\".",
        ));
    }
    let id = required("id", cloud.id)?;
    let source = required("source", cloud.source)?;
    required("type", cloud.r#type)?;
    if cloud.data_base64.is_some() {
        return Err(Fault::invalid(
            "/data_base64",
            "Binary data is not supported; send the audit event as a JSON object in `data`.",
        ));
    }
    let data = cloud.data.ok_or_else(|| {
        let detail = "`data` is required: it is the audit event.";
        Fault::new(FaultCode::FieldRequired, "/data", detail)
    })?;
    let envelope = Envelope {
        time: cloud.time.map(Raw::from),
        name: name(&source, &id),
    };
    Ok(Sent::in_envelope(data.get(), envelope))
}

/// What an event is called. The last `#` is between the two: a `#` of the id is written as in a URL,
/// and so is its `%`.
fn name(source: &str, id: &str) -> String {
    let id = id.replace('%', "%25").replace('#', "%23");
    format!("{source}#{id}")
}

/// A string that must be there and hold something.
fn required<'a>(field: &str, value: Option<&'a RawValue>) -> Result<Cow<'a, str>, Fault> {
    let raw = value.ok_or_else(|| Fault::required(field))?;
    text(raw.into())
        .filter(|text| !text.is_empty())
        .ok_or_else(|| {
            let detail = format!("`{field}` must be a non-empty string.");
            Fault::invalid(pointer_to(field), detail)
        })
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn different_events_have_different_names() {
        assert_eq!(name("/agents/billing", "call-1"), "/agents/billing#call-1");
        assert_ne!(name("a#b", "c"), name("a", "b#c"));
        assert_ne!(name("a", "b#c"), name("a", "b%23c"));
    }
}
