//! The door for events: checks one as sent and gives it its id and its stored bytes.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    time::Duration,
};

use serde_json::value::RawValue;

use super::{
    AHEAD_MAX, EVENT_BYTES_MAX, EventView, NAME_CHARS_MAX, OF_THE_SERVER, RESOURCE_CHARS_MAX,
    Source, check, reserved::RESERVED, view::text,
};
use crate::{
    EventId, OrgId, Timestamp,
    fault::{Fault, FaultCode},
    id::Tail,
};

/// One event as sent.
#[derive(Clone, Debug)]
pub struct Sent<'a> {
    pub json: &'a str,
    /// What was said of the event outside it; `json` is then its `data`.
    pub envelope: Option<Envelope<'a>>,
}

/// What an envelope (CloudEvents) says of its event: it counts where the event itself says nothing.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    /// When the event occurred: a JSON string that holds a date-time.
    pub time: Option<&'a RawValue>,
    /// What tells the event from all others of the organisation.
    pub name: String,
}

/// What an event is judged by beside its own bytes.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub org: OrgId,
    /// Who wrote it.
    pub source: Source,
    pub received_at: Timestamp,
    /// Older events than this are refused, so that the days of the trail stay few.
    pub retention: Duration,
}

/// Checks one event and writes it to the end of `stored` as it will be stored, listed and
/// delivered: the client's object, verbatim, with what the server knows in front. `tail` makes its id
/// unless the client named the event. If it is refused, nothing is written.
pub fn accept(
    sent: &Sent<'_>,
    arrival: &Arrival,
    tail: Tail,
    stored: &mut String,
) -> Result<EventId, Fault> {
    let json = sent.json;
    let inside = if sent.envelope.is_some() { DATA } else { "" };
    let event = checked(json, arrival.source).map_err(|fault| fault.under(inside))?;
    let occurred_at = occurred_at(&event, sent, arrival)?;
    let client_event_id = client_event_id(&event, sent, occurred_at.is_some())?;
    let id = match (&client_event_id, occurred_at) {
        (Some(given), Some(at)) => EventId::from_client(arrival.org, given, at),
        (_, at) => EventId::with_tail(at.unwrap_or(arrival.received_at), tail),
    };
    let rest = json
        .trim_start()
        .strip_prefix('{')
        .expect("a parsed event starts with a brace");
    let Arrival {
        source,
        received_at,
        ..
    } = arrival;
    stored.reserve(FRONT_BYTES + rest.len());
    stored.push_str(r#"{"id":""#);
    stored.push_str(id.text().as_str());
    push(
        stored,
        format_args!(r#"","received_at":"{received_at}","source":"{source}","#),
    );
    if event.occurred_at.is_none() {
        match sent.envelope.as_ref().and_then(|envelope| envelope.time) {
            Some(time) => push(stored, format_args!(r#""occurred_at":{time},"#)),
            None => push(stored, format_args!(r#""occurred_at":"{received_at}","#)),
        }
    }
    if let (None, Some(given)) = (event.client_event_id, &client_event_id) {
        let given = serde_json::Value::from(given.as_ref());
        push(stored, format_args!(r#""client_event_id":{given},"#));
    }
    stored.push_str(rest);
    Ok(id)
}

/// Where an envelope keeps its event.
const DATA: &str = "/data";
/// What is written in front of an event that brings its own time and name.
const FRONT_BYTES: usize = 160;

fn push(stored: &mut String, text: fmt::Arguments<'_>) {
    stored
        .write_fmt(text)
        .expect("writing to a string does not fail");
}

/// The event's fields, each as it must be.
fn checked(json: &str, source: Source) -> Result<EventView<'_>, Fault> {
    if json.len() > EVENT_BYTES_MAX {
        let detail = format!(
            "An event is at most {EVENT_BYTES_MAX} bytes; this one is {}.",
            json.len()
        );
        return Err(Fault::new(FaultCode::EventTooLarge, "", detail));
    }
    let event = EventView::parse(json)?;
    check_fields(&event)?;
    match (source, event.event_type.and_then(text)) {
        (Source::Key(_), Some(event_type)) if RESERVED.contains(&event_type.as_ref()) => {
            Err(reserved(&event_type))
        }
        _ => Ok(event),
    }
}

/// A client that sent such an event would speak for the server.
fn reserved(event_type: &str) -> Fault {
    let detail = format!(
        "Only the server writes events of the type `{event_type}`; send yours under another name, such as \
         `agent_{event_type}`."
    );
    Fault::invalid("/event_type", detail)
}

/// When the event occurred, if anybody said so.
fn occurred_at(
    event: &EventView<'_>,
    sent: &Sent<'_>,
    arrival: &Arrival,
) -> Result<Option<Timestamp>, Fault> {
    let (raw, pointer) = match (event.occurred_at, &sent.envelope) {
        (None, Some(envelope)) => (envelope.time, "/time"),
        (given, Some(_)) => (given, "/data/occurred_at"),
        (given, None) => (given, "/occurred_at"),
    };
    let at = check::moment(raw, pointer)?;
    check_time(at, arrival, pointer)?;
    Ok(at)
}

/// What the client calls the event, if it has a name for it. A name needs a time: both make the id.
fn client_event_id<'a>(
    event: &EventView<'a>,
    sent: &'a Sent<'_>,
    has_time: bool,
) -> Result<Option<Cow<'a, str>>, Fault> {
    match (event.client_event_id.and_then(text), &sent.envelope) {
        (Some(_), envelope) if !has_time => {
            let pointer = envelope.as_ref().map_or("/occurred_at", |_| "/time");
            let detail = "`client_event_id` needs `occurred_at`: the event's id is made from both.";
            Err(Fault::new(FaultCode::FieldRequired, pointer, detail))
        }
        (None, Some(envelope)) if has_time => {
            if check::is_short(&envelope.name, NAME_CHARS_MAX) {
                return Ok(Some(Cow::Borrowed(&envelope.name)));
            }
            let detail = format!(
                "`source`, # and `id` are the event's `client_event_id`, which has at most \
                 {NAME_CHARS_MAX} characters; give a shorter one in `data`."
            );
            Err(Fault::new(FaultCode::FieldTooLong, "/id", detail))
        }
        (given, _) => Ok(given),
    }
}

fn check_fields(event: &EventView<'_>) -> Result<(), Fault> {
    if let Some(name) = OF_THE_SERVER
        .iter()
        .find(|name| event.field(name).is_some())
    {
        let detail = match *name {
            "id" => "`id` is set by the server; name the event by `client_event_id`.".to_owned(),
            name => format!("`{name}` is set by the server; leave it out."),
        };
        return Err(Fault::new(
            FaultCode::FieldUnknown,
            format!("/{name}"),
            detail,
        ));
    }
    let name = |most| move |text: &str| check::is_name(text, most);
    let short = |most| move |text: &str| check::is_short(text, most);
    check::required(
        "event_type",
        event.event_type,
        "a name of a-z, 0-9, _ (at most 64)",
        name(64),
    )?;
    check::required(
        "agent_id",
        event.agent_id,
        "a string of 1 to 128 characters",
        short(128),
    )?;
    check::required(
        "action",
        event.action,
        "a dotted name such as files.delete (at most 128)",
        check::is_action,
    )?;
    check::required(
        "result",
        event.result,
        "a name of a-z, 0-9, _ (at most 32)",
        name(32),
    )?;
    let texts = [
        ("client_event_id", event.client_event_id),
        ("session_id", event.session_id),
        ("trace_id", event.trace_id),
        ("span_id", event.span_id),
        ("decision_id", event.decision_id),
        ("error_code", event.error_code),
    ];
    for (field, value) in texts {
        check::optional(
            field,
            value,
            "a string of 1 to 128 characters",
            short(NAME_CHARS_MAX),
        )?;
    }
    check::optional(
        "resource",
        event.resource,
        "a string of 1 to 256 characters",
        short(RESOURCE_CHARS_MAX),
    )?;
    check::optional(
        "severity",
        event.severity,
        "one of info, low, medium, high, critical",
        check::is_severity,
    )?;
    check::latency(event.latency_ms)?;
    check::metadata(event.metadata)
}

fn check_time(
    occurred_at: Option<Timestamp>,
    arrival: &Arrival,
    pointer: &str,
) -> Result<(), Fault> {
    let Some(at) = occurred_at else { return Ok(()) };
    let field = pointer.rsplit('/').next().unwrap_or_default();
    if at > arrival.received_at.plus(AHEAD_MAX) {
        let detail = format!(
            "`{field}` is more than 5 minutes ahead of the server's clock; check the agent's clock."
        );
        return Err(Fault::invalid(pointer, detail));
    }
    if at < arrival.received_at.minus(arrival.retention) {
        let days = arrival.retention.as_secs() / 86_400;
        let detail =
            format!("`{field}` is more than {days} days ago; older events are not accepted.");
        return Err(Fault::invalid(pointer, detail));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::{KeyId, id::RANDOM_BYTES};

    const NOW: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

    #[derive(Debug)]
    struct Accepted {
        id: EventId,
        json: String,
    }

    fn judge(json: &str) -> Result<Accepted, Fault> {
        judge_of(Source::Key(KeyId::from_uuid(Uuid::from_u128(2))), json)
    }

    fn judge_of(source: Source, json: &str) -> Result<Accepted, Fault> {
        let arrival = Arrival {
            org: OrgId::from_uuid(Uuid::from_u128(1)),
            source,
            received_at: NOW,
            retention: Duration::from_secs(183 * 86_400),
        };
        let (mut stored, tail) = (String::new(), Tail::Random([9; RANDOM_BYTES]));
        let sent = Sent {
            json,
            envelope: None,
        };
        let id = accept(&sent, &arrival, tail, &mut stored)?;
        Ok(Accepted { id, json: stored })
    }

    fn with(more: &str) -> String {
        format!(
            r#"{{"event_type":"tool_call","agent_id":"a","action":"files.delete","result":"denied"{more}}}"#
        )
    }

    #[test]
    fn the_clients_bytes_are_kept_behind_the_servers_fields() {
        let sent = r#"{ "event_type":"tool_call","agent_id":"é\n","action":"a.b", "result":"ok","metadata":{"n":1.00} }"#;
        let accepted = judge(sent).expect("valid");
        let text = accepted.json;
        assert!(text.ends_with(&sent[1..]), "{text}");
        let id = accepted.id;
        let front = format!(
            r#"{{"id":"{id}","received_at":"{NOW}","source":"key_00000000000000000000000002","occurred_at":"{NOW}","#
        );
        assert!(text.starts_with(&front), "{text}");
    }

    #[test]
    fn each_bad_field_is_pointed_at() {
        let cases: &[(&str, &str, FaultCode)] = &[
            (
                r#"{"agent_id":"a","action":"a.b","result":"ok"}"#,
                "/event_type",
                FaultCode::FieldRequired,
            ),
            (&with(r#","colour":1"#), "/colour", FaultCode::FieldUnknown),
            (&with(r#","id":"evt_1""#), "/id", FaultCode::FieldUnknown),
            (
                &with(r#","source":"server""#),
                "/source",
                FaultCode::FieldUnknown,
            ),
            (
                &with(r#","result":"ok""#),
                "/result",
                FaultCode::FieldDuplicated,
            ),
            (
                &with(r#","severity":"urgent""#),
                "/severity",
                FaultCode::FieldInvalid,
            ),
            (
                &with(r#","latency_ms":-1"#),
                "/latency_ms",
                FaultCode::FieldInvalid,
            ),
            (
                &with(r#","metadata":{"n":1e999}"#),
                "/metadata",
                FaultCode::FieldInvalid,
            ),
            (
                &with(r#","metadata":{"half":"\ud800"}"#),
                "/metadata",
                FaultCode::FieldInvalid,
            ),
            (
                &with(r#","metadata":{"a":{"b":[0,{"c":1,"c/d":2,"c":3}]}}"#),
                "/metadata/a/b/1/c",
                FaultCode::FieldDuplicated,
            ),
            (
                &with(r#","metadata":{"a":1,"\u0061":2}"#),
                "/metadata/a",
                FaultCode::FieldDuplicated,
            ),
            (
                &with(&format!(
                    r#","metadata":{{"a":{}{}}}"#,
                    "[".repeat(200),
                    "]".repeat(200)
                )),
                "/metadata",
                FaultCode::FieldInvalid,
            ),
            ("{} {}", "", FaultCode::NotAnObject),
            ("nonsense", "", FaultCode::NotAnObject),
            (
                &with(r#","metadata":[]"#),
                "/metadata",
                FaultCode::FieldInvalid,
            ),
            (
                &with(r#","client_event_id":"x""#),
                "/occurred_at",
                FaultCode::FieldRequired,
            ),
            (
                &with(r#","occurred_at":"yesterday""#),
                "/occurred_at",
                FaultCode::FieldInvalid,
            ),
            (
                &with(r#","occurred_at":"2035-01-01T00:00:00Z""#),
                "/occurred_at",
                FaultCode::FieldInvalid,
            ),
            (
                &with(r#","occurred_at":"2015-01-01T00:00:00Z""#),
                "/occurred_at",
                FaultCode::FieldInvalid,
            ),
            (
                r#"{"event_type":"Tool","agent_id":"a","action":"a.b","result":"ok"}"#,
                "/event_type",
                FaultCode::FieldInvalid,
            ),
            (
                r#"{"event_type":"t","agent_id":"","action":"a.b","result":"ok"}"#,
                "/agent_id",
                FaultCode::FieldInvalid,
            ),
            (
                r#"{"event_type":"t","agent_id":"a\u0000b","action":"a.b","result":"ok"}"#,
                "/agent_id",
                FaultCode::FieldInvalid,
            ),
            (
                r#"{"event_type":"t","agent_id":"a","action":"delete","result":"ok"}"#,
                "/action",
                FaultCode::FieldInvalid,
            ),
            (
                r#"{"event_type":"t","agent_id":"a","action":"a.b","result":7}"#,
                "/result",
                FaultCode::FieldInvalid,
            ),
            ("[1]", "", FaultCode::NotAnObject),
        ];
        for (json, pointer, code) in cases {
            let fault = judge(json).expect_err(json);
            assert_eq!(
                (fault.pointer.as_str(), fault.code),
                (*pointer, *code),
                "{json}"
            );
        }
    }

    #[test]
    fn only_the_server_writes_events_of_its_own_types() {
        for event_type in RESERVED {
            // Also where it is spelled otherwise.
            let spelled = event_type.replacen('e', "\\u0065", 1);
            for word in [event_type, &spelled] {
                let json = with("").replacen("tool_call", word, 1);
                let fault = judge(&json).expect_err(word);
                assert_eq!(fault.pointer, "/event_type", "{word}");
                judge_of(Source::Server, &json).expect(word);
            }
        }
        judge(&with("").replacen("tool_call", "agent_login", 1)).expect("a type of one's own");
    }

    #[test]
    fn an_event_the_client_named_gets_the_same_id_every_time() {
        let json = with(r#","client_event_id":"x","occurred_at":"2025-11-15T00:00:00Z""#);
        assert_eq!(
            judge(&json).expect("valid").id,
            judge(&json).expect("valid").id
        );
    }

    #[test]
    fn an_event_over_32_kib_is_refused() {
        let fault =
            judge(&with(&format!(r#","resource":"{}""#, "x".repeat(40_000)))).expect_err("large");
        assert_eq!(fault.code, FaultCode::EventTooLarge);
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_reads_back_with_its_id(agent in "[^\\x00]{1,20}", note: String) {
            let agent_json = serde_json::to_string(&agent).expect("JSON");
            let note = serde_json::to_string(&note).expect("JSON");
            let json = format!(
                r#"{{"event_type":"t","agent_id":{agent_json},"action":"a.b","result":"ok","metadata":{{"note":{note}}}}}"#
            );
            let accepted = judge(&json).expect("valid");
            let view = EventView::parse(&accepted.json).expect("stored events parse");
            prop_assert_eq!(view.text("id").map(Cow::into_owned), Some(accepted.id.to_string()));
            prop_assert_eq!(view.text("agent_id").map(Cow::into_owned), Some(agent));
        }
    }
}
