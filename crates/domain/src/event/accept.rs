//! The door for events: checks one as sent and gives it its id and its stored bytes.

use std::time::Duration;

use serde_json::value::RawValue;

use super::{AHEAD_MAX, EVENT_BYTES_MAX, EventView, check, view::text};
use crate::{
    EventId, OrgId, Timestamp,
    fault::{Fault, FaultCode},
    id::RANDOM_BYTES,
};

/// An event that passed every check, as it will be stored, listed and delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub id: EventId,
    /// The client's object, verbatim, with the server's fields in front.
    pub json: String,
}

/// What an event is judged by beside its own bytes.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub org: OrgId,
    pub received_at: Timestamp,
    /// Older events than this are refused, so that the days of the trail stay few.
    pub retention: Duration,
}

/// Checks one event. `random` becomes the random part of its id unless the client named the event.
pub fn accept(
    raw: &RawValue,
    arrival: Arrival,
    random: [u8; RANDOM_BYTES],
) -> Result<Accepted, Fault> {
    let json = raw.get();
    if json.len() > EVENT_BYTES_MAX {
        let detail = format!(
            "An event is at most {EVENT_BYTES_MAX} bytes; this one is {}.",
            json.len()
        );
        return Err(Fault::new(FaultCode::EventTooLarge, "", detail));
    }
    let event = EventView::parse(json)?;
    check_fields(&event)?;
    let occurred_at = check::occurred_at(event.occurred_at)?;
    check_time(occurred_at, arrival)?;
    let id = match (event.client_event_id.and_then(text), occurred_at) {
        (None, at) => EventId::new(at.unwrap_or(arrival.received_at), random),
        (Some(given), Some(at)) => EventId::from_client(arrival.org, &given, at),
        (Some(_), None) => {
            return Err(Fault::new(
                FaultCode::FieldRequired,
                "/occurred_at",
                "`client_event_id` needs `occurred_at`: the event's id is made from both.",
            ));
        }
    };
    Ok(Accepted {
        id,
        json: stored(json, id, arrival.received_at, occurred_at.is_none()),
    })
}

fn check_fields(event: &EventView<'_>) -> Result<(), Fault> {
    for (name, value) in [("id", event.id), ("received_at", event.received_at)] {
        if value.is_some() {
            let detail =
                format!("`{name}` is set by the server; name the event by `client_event_id`.");
            return Err(Fault::new(
                FaultCode::FieldUnknown,
                format!("/{name}"),
                detail,
            ));
        }
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
        check::optional(field, value, "a string of 1 to 128 characters", short(128))?;
    }
    check::optional(
        "resource",
        event.resource,
        "a string of 1 to 256 characters",
        short(256),
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

fn check_time(occurred_at: Option<Timestamp>, arrival: Arrival) -> Result<(), Fault> {
    let Some(at) = occurred_at else { return Ok(()) };
    if at > arrival.received_at.plus(AHEAD_MAX) {
        return Err(Fault::invalid(
            "/occurred_at",
            "`occurred_at` is more than 5 minutes ahead of the server's clock; check the agent's clock.",
        ));
    }
    if at < arrival.received_at.minus(arrival.retention) {
        let days = arrival.retention.as_secs() / 86_400;
        return Err(Fault::invalid(
            "/occurred_at",
            format!("`occurred_at` is more than {days} days ago; older events are not accepted."),
        ));
    }
    Ok(())
}

/// The client's object with the server's fields in front of its first one.
fn stored(json: &str, id: EventId, received_at: Timestamp, add_occurred_at: bool) -> String {
    let rest = json
        .trim_start()
        .strip_prefix('{')
        .expect("a parsed event starts with a brace");
    if add_occurred_at {
        format!(
            r#"{{"id":"{id}","received_at":"{received_at}","occurred_at":"{received_at}",{rest}"#
        )
    } else {
        format!(r#"{{"id":"{id}","received_at":"{received_at}",{rest}"#)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const NOW: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

    fn judge(json: &str) -> Result<Accepted, Fault> {
        let arrival = Arrival {
            org: OrgId::from_uuid(Uuid::from_u128(1)),
            received_at: NOW,
            retention: Duration::from_secs(183 * 86_400),
        };
        let raw: &RawValue = serde_json::from_str(json).expect("JSON");
        accept(raw, arrival, [9; RANDOM_BYTES])
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
        assert!(text.starts_with(&format!(
            r#"{{"id":"{id}","received_at":"{NOW}","occurred_at":"{NOW}","#
        )));
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
