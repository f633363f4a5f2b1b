//! What is read of each form, and that no form loses, repeats or reorders an event.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::{
    EventId, KeyId, OrgId, Timestamp,
    event::{self, EventView, Source, accept::Arrival},
    fault::FaultCode,
    id::Tail,
};

const NOW: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

fn arrival() -> Arrival {
    Arrival {
        org: OrgId::from_uuid(Uuid::from_u128(1)),
        source: Source::Key(KeyId::from_uuid(Uuid::from_u128(2))),
        received_at: NOW,
        retention: Duration::from_secs(183 * 86_400),
    }
}

/// What became of each event: its id and its stored JSON, or its fault.
fn judged(form: Form, body: &[u8]) -> Vec<Result<(EventId, String), Fault>> {
    let batch = parse(form, body).expect("a batch");
    let judge = |(index, sent): (usize, Result<Sent<'_>, Fault>)| {
        let mut stored = String::new();
        let mut tail = [0; 10];
        tail[9] = u8::try_from(index % 256).expect("a byte");
        let id = event::accept(&sent?, &arrival(), Tail::Random(tail), &mut stored)?;
        Ok((id, stored))
    };
    batch.events.into_iter().enumerate().map(judge).collect()
}

fn faults(form: Form, body: &str) -> Vec<(usize, String, FaultCode)> {
    let all = judged(form, body.as_bytes()).into_iter().enumerate();
    all.filter_map(|(index, one)| one.err().map(|fault| (index, fault.pointer, fault.code)))
        .collect()
}

fn good(agent: &str) -> Value {
    json!({"event_type": "t", "agent_id": agent, "action": "a.b", "result": "ok"})
}

fn cloud(id: &str, data: &Value) -> Value {
    json!({"specversion": "1.0", "id": id, "source": "/agents/7", "type": "audit", "data": data})
}

#[test]
fn a_media_type_names_its_form() {
    for (name, form) in [
        ("application/json", Some(Form::Json)),
        ("Application/X-NDJSON", Some(Form::Ndjson)),
        ("application/jsonl", Some(Form::Ndjson)),
        ("application/ndjson", Some(Form::Ndjson)),
        ("application/cloudevents+json", Some(Form::CloudEvent)),
        (
            "application/cloudevents-batch+json",
            Some(Form::CloudEvents),
        ),
        ("text/plain", None),
        ("", None),
    ] {
        assert_eq!(Form::of(name), form, "{name}");
    }
}

#[test]
fn both_json_forms_are_read() {
    let batch = parse(Form::Json, br#" { "events" : [{"a":1},{"b":2}]} "#).expect("batch");
    assert_eq!(batch.events.len(), 2);
    assert_eq!(batch.pointer_to(1), "/events/1");
    let bare = parse(Form::Json, br#" { "event_type": "x" } "#).expect("bare");
    assert_eq!(bare.events.len(), 1);
    assert_eq!(bare.pointer_to(0), "");
}

#[test]
fn what_is_not_a_batch_is_refused() {
    let cases = [
        (Form::Json, ""),
        (Form::Json, "{"),
        (Form::Json, r#"{"events":{}}"#),
        (Form::Json, r#"{"events":[1],"more":2}"#),
        (Form::Json, r#"{"events":[1],"events":[2]}"#),
        (Form::Json, r#"{"events":[1]}x"#),
        (Form::Json, "nonsense"),
        (Form::CloudEvent, "nonsense"),
        (Form::CloudEvents, "{}"),
        (Form::CloudEvents, "[1]x"),
    ];
    for (form, body) in cases {
        let refused = parse(form, body.as_bytes());
        assert!(matches!(refused, Err(Unreadable::NotJson { .. })), "{body}");
    }
    for form in [Form::Json, Form::CloudEvent, Form::CloudEvents] {
        let refused = parse(form, b"\xff");
        assert!(matches!(
            refused,
            Err(Unreadable::NotUtf8 { valid_up_to: 0 })
        ));
    }
    for (form, body) in [
        (Form::Json, r#"{"events":[]}"#),
        (Form::Ndjson, " \n\r\n"),
        (Form::CloudEvents, "[]"),
    ] {
        let refused = parse(form, body.as_bytes());
        assert!(matches!(refused, Err(Unreadable::Empty)), "{body}");
    }
    let many = "1,".repeat(EVENTS_MAX);
    for (form, body) in [
        (Form::Json, format!(r#"{{"events":[{many}1]}}"#)),
        (Form::Ndjson, many.replace(',', "\n") + "1"),
        (Form::CloudEvents, format!("[{many}1]")),
    ] {
        let refused = parse(form, body.as_bytes());
        assert!(matches!(refused, Err(Unreadable::TooMany { count: 1_001 })));
    }
}

#[test]
fn a_complaint_does_not_repeat_the_whole_body() {
    let body = format!(r#"{{"events":"{}"}}"#, "x".repeat(100_000));
    let error = parse(Form::Json, body.as_bytes()).expect_err("no list");
    assert!(error.to_string().len() < 400);
}

#[test]
fn a_line_that_is_no_event_sinks_nobody_else() {
    let body = [
        good("a").to_string().into_bytes(),
        b"".to_vec(),
        b"nonsense".to_vec(),
        b"{\"event_type\":\"\xff\"}".to_vec(),
        b"{} {}".to_vec(),
        b"\t".to_vec(),
        good("b").to_string().into_bytes(),
    ]
    .join(b"\r\n".as_slice());
    let judged = judged(Form::Ndjson, &body);
    let codes: Vec<_> = judged
        .iter()
        .map(|one| one.as_ref().err().map(|f| f.code))
        .collect();
    let bad = Some(FaultCode::NotAnObject);
    assert_eq!(codes, [None, bad, bad, bad, None]);
    let fault = judged[2].as_ref().expect_err("not UTF-8");
    assert!(fault.detail.starts_with("Line 4 "), "{fault}");
}

#[test]
fn an_envelope_names_and_dates_an_event_that_does_not_say_so_itself() {
    let mut dated = cloud("n-1", &good("a"));
    dated["time"] = json!("2025-11-15T01:00:00.5+01:00");
    dated["traceparent"] = json!("an extension");
    let stored = |cloud: &Value| {
        let body = cloud.to_string();
        let mut judged = judged(Form::CloudEvent, body.as_bytes());
        let (id, stored) = judged.remove(0).expect("accepted");
        let value: Value = serde_json::from_str(&stored).expect("JSON");
        (id, stored, value)
    };
    let (id, text, value) = stored(&dated);
    assert_eq!(value["occurred_at"], dated["time"], "as it was sent");
    assert_eq!(value["client_event_id"], "/agents/7#n-1");
    assert!(text.ends_with(&dated["data"].to_string()[1..]), "{text}");
    let at = Timestamp::parse("2025-11-15T00:00:00.5Z").expect("a time");
    assert_eq!(id.time(), at);
    let sender = arrival().source.to_string();
    let said = [sender.as_str(), "/agents/7#n-1", &dated["data"].to_string()];
    assert_eq!(
        id,
        EventId::from_client(arrival().org, &said, at),
        "sent again it is the same event"
    );

    let (_, _, undated) = stored(&cloud("n-1", &good("a")));
    assert_eq!(undated["occurred_at"], NOW.to_string());
    assert_eq!(undated["client_event_id"], Value::Null);

    dated["data"]["occurred_at"] = json!("2025-11-14T00:00:00Z");
    dated["data"]["client_event_id"] = json!("mine");
    let (_, text, own) = stored(&dated);
    assert_eq!(own["occurred_at"], "2025-11-14T00:00:00Z");
    assert_eq!(own["client_event_id"], "mine");
    assert_eq!(text.matches("occurred_at").count(), 1);
}

#[test]
fn each_bad_attribute_of_an_envelope_is_pointed_at() {
    let with = |field: &str, value: Value| {
        let mut one = cloud("n-1", &good("a"));
        one["time"] = json!("2025-11-15T00:00:00Z");
        one[field] = value;
        one
    };
    let bad_data = json!({"event_type": "t"});
    let cases = [
        (with("specversion", json!("0.3")), "/specversion"),
        (with("specversion", json!(1.0)), "/specversion"),
        (with("id", Value::Null), "/id"),
        (with("id", json!("")), "/id"),
        (with("id", json!("x".repeat(128))), "/id"),
        (with("source", json!(7)), "/source"),
        (with("type", Value::Null), "/type"),
        (with("time", json!("yesterday")), "/time"),
        (with("time", json!("2035-01-01T00:00:00Z")), "/time"),
        (with("data", Value::Null), "/data"),
        (with("data", json!("text")), "/data"),
        (with("data", bad_data), "/data/agent_id"),
        (with("data_base64", json!("AA==")), "/data_base64"),
        (json!(7), ""),
    ];
    let bodies: Value = cases.iter().map(|(one, _)| one.clone()).collect();
    let body = bodies.to_string();
    let found = faults(Form::CloudEvents, &body);
    let found: Vec<(usize, &str)> = found.iter().map(|(i, at, _)| (*i, at.as_str())).collect();
    let expected: Vec<(usize, &str)> = cases.iter().map(|(_, at)| *at).enumerate().collect();
    assert_eq!(found, expected);
    let batch = parse(Form::CloudEvents, body.as_bytes()).expect("a batch");
    assert_eq!(batch.pointer_to(3), "/3");
}

/// One element of a batch, and whether it is an event. Each says its number, to be told apart.
fn element() -> impl Strategy<Value = (u8, bool)> {
    (0u8..8, any::<bool>())
}

fn written(form: Form, kinds: &[(u8, bool)]) -> (Vec<u8>, Vec<bool>) {
    let one = |(number, (kind, named)): (usize, &(u8, bool))| {
        let mut event = good(&format!("agent-{number}"));
        if *named {
            event["client_event_id"] = json!(format!("name-{number}"));
            event["occurred_at"] = json!("2025-11-15T00:00:00Z");
        }
        match kind {
            0 => (json!(number), false),
            1 => (json!({"event_type": "t"}), false),
            2 => {
                event["unknown"] = json!(1);
                (event, false)
            }
            _ => (event, true),
        }
    };
    let (events, is_good): (Vec<Value>, Vec<bool>) = kinds.iter().enumerate().map(one).unzip();
    let body = match form {
        Form::Json => json!({"events": events}).to_string(),
        Form::Ndjson => {
            let lines: Vec<String> = events.iter().map(Value::to_string).collect();
            lines.join("\n\n")
        }
        Form::CloudEvents => {
            let envelope = |(number, data): (usize, &Value)| cloud(&number.to_string(), data);
            let envelopes: Value = events.iter().enumerate().map(envelope).collect();
            envelopes.to_string()
        }
        Form::CloudEvent => cloud("0", &events[0]).to_string(),
    };
    (body.into_bytes(), is_good)
}

proptest! {
    #[test]
    fn a_batch_is_the_union_of_its_accepted_and_rejected_events_in_order(
        kinds in prop::collection::vec(element(), 1..40), form in 0usize..4,
    ) {
        let form = Form::ALL[form];
        let kinds = if form == Form::CloudEvent { &kinds[..1] } else { &kinds };
        let (body, is_good) = written(form, kinds);
        let first = judged(form, &body);
        prop_assert_eq!(first.len(), kinds.len());
        let mut ids = Vec::new();
        for (number, (one, is_good)) in first.iter().zip(is_good).enumerate() {
            prop_assert_eq!(one.is_ok(), is_good, "{}", number);
            let Ok((id, stored)) = one else { continue };
            let view = EventView::parse(stored).expect("stored events parse");
            let text = |name| view.text(name).unwrap_or_default().into_owned();
            prop_assert_eq!(text("agent_id"), format!("agent-{number}"));
            prop_assert_eq!(text("id"), id.to_string());
            prop_assert_eq!(id.is_derived(), view.client_event_id.is_some());
            ids.push(*id);
        }
        prop_assert_eq!(&first, &judged(form, &body), "judged again it is the same");
        let accepted = ids.len();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), accepted, "ids are unique");
    }

    #[test]
    fn no_body_panics(body: Vec<u8>, form in 0usize..4) {
        if let Ok(batch) = parse(Form::ALL[form], &body) {
            for sent in batch.events.into_iter().flatten() {
                let tail = Tail::Random([0; 10]);
                let _ = event::accept(&sent, &arrival(), tail, &mut String::new());
            }
        }
    }
}
