//! What the door takes, what it refuses, and what becomes of it.

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
    let sent = Sent::bare(json);
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
        (&with(r#","color":1"#), "/color", FaultCode::FieldUnknown),
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
fn an_event_in_the_name_of_another_agent_is_pointed_at() {
    let bound = Agents::from(vec![String::from("a"), String::from("b-*")]);
    let refused = |agent: &str, envelope: Option<Envelope<'_>>| {
        let json = with("").replacen(r#""a""#, agent, 1);
        let sent = match envelope {
            None => Sent::bare(&json),
            Some(envelope) => Sent::in_envelope(&json, envelope),
        };
        assert_eq!(check_agent(&sent, &Agents::ALL), Ok(()));
        check_agent(&sent, &bound).err().map(|fault| fault.pointer)
    };
    for (agent, pointer) in [
        (r#""a""#, None),
        (r#""b-1""#, None),
        (r#""c""#, Some("/agent_id")),
        (r#""\u0063""#, Some("/agent_id")),
        // No event: that is another fault.
        ("7", None),
        (r#""c","agent_id":"a""#, None),
    ] {
        assert_eq!(refused(agent, None).as_deref(), pointer, "{agent}");
    }
    let envelope = Envelope {
        time: None,
        name: String::from("x"),
    };
    let pointer = refused(r#""c""#, Some(envelope));
    assert_eq!(pointer.as_deref(), Some("/data/agent_id"));
}

#[test]
fn an_event_the_client_named_gets_the_same_id_every_time_from_them_as_it_was() {
    let json = with(r#","client_event_id":"x","occurred_at":"2025-11-15T00:00:00Z""#);
    let id = judge(&json).expect("valid").id;
    assert_eq!(judge(&format!(" {json}\r\n")).expect("valid").id, id);
    let other = json.replace("denied", "success");
    assert_ne!(judge(&other).expect("valid").id, id);
    let key = Source::Key(KeyId::from_uuid(Uuid::from_u128(3)));
    assert_ne!(judge_of(key, &json).expect("valid").id, id);
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
