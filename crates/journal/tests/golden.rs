//! Records as they were written by every version so far: they decode for as long as old bytes may
//! exist. A file here is never changed; a new shape is a new version and a new file.

use domain::{
    AttemptId, DeliveryId, EventId, KeyId, OrgId, RuleId, Timestamp,
    account::Scope,
    delivery::{Outcome, State, Trigger},
    rule::{Definition, Pattern, Rule},
};
use journal::{
    Error,
    config::{Change, KeyEntry, read_key, read_rule},
    frames::Frames,
    record::{self, Attempted, DeadLetter, EventRecord, Job, Matched, OutcomeRecord},
};
use serde_json::json;
use uuid::Uuid;

const EVENTS_V1: &[u8] = include_bytes!("../golden/events.v1.bin");
const OUTCOMES_V1: &[u8] = include_bytes!("../golden/outcomes.v1.bin");
const JOB_V1: &[u8] = include_bytes!("../golden/job.v1.bin");
const DEAD_LETTER_V1: &[u8] = include_bytes!("../golden/dead-letter.v1.bin");
const KEY_V1: &[u8] = include_bytes!("../golden/key.v1.json");
const RULE_V1: &[u8] = include_bytes!("../golden/rule.v1.json");

const EVENT_JSON: &str = r#"{"id":"evt_01jcq3k5m8e9ratvw2x4y6z8ab","received_at":"2026-11-15T09:30:00.125Z","event_type":"tool_call","agent_id":"agent-é","action":"files.delete","result":"denied"}"#;

fn uuid(last: u128) -> Uuid {
    Uuid::from_u128(0x0193_2b3c_4d5e_7000_8000_0000_0000_0000 + last)
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(1_794_735_000_000 + millis)
}

fn events() -> Vec<EventRecord<'static>> {
    let event = |number: u32| EventRecord {
        org: OrgId::from_uuid(uuid(1)),
        id: EventId::from_uuid(uuid(10 + u128::from(number))),
        received_at: at(i64::from(number)),
        json: EVENT_JSON,
    };
    vec![event(1), event(2)]
}

fn outcomes() -> Vec<OutcomeRecord> {
    let (org, delivery) = (OrgId::from_uuid(uuid(1)), DeliveryId::from_uuid(uuid(20)));
    let url = String::from("https://example.com/hooks");
    vec![
        OutcomeRecord::Matched(Matched {
            org,
            delivery,
            event: EventId::from_uuid(uuid(11)),
            rule: RuleId::from_uuid(uuid(30)),
            rule_name: String::from("Denied tool calls"),
            event_type: String::from("tool_call"),
            url: url.clone(),
            matched_at: at(5),
        }),
        OutcomeRecord::Attempted(Box::new(Attempted {
            id: AttemptId::from_uuid(uuid(40)),
            org,
            delivery,
            number: 2,
            trigger: Trigger::Retry,
            due_at: at(1_000),
            started_at: at(1_001),
            finished_at: at(1_020),
            signed_at: at(1_001),
            url,
            remote_address: Some(String::from("93.184.216.34:443")),
            body_sha256: String::from("00ff"),
            body_bytes: 312,
            status: Some(503),
            outcome: Outcome::Transient,
            error: Some(String::from("The receiver answered 503.")),
            answer: String::from("busy"),
            state: State::Scheduled,
            next_at: Some(at(6_020)),
        })),
    ]
}

fn job() -> Job {
    Job {
        org: OrgId::from_uuid(uuid(1)),
        delivery: DeliveryId::from_uuid(uuid(20)),
        event: EventId::from_uuid(uuid(11)),
        rule: RuleId::from_uuid(uuid(30)),
        rule_name: String::from("Denied tool calls"),
        event_type: String::from("tool_call"),
        url: String::from("https://example.com/hooks"),
        json: String::from(EVENT_JSON),
        matched_at: at(5),
        attempt: 2,
        due_at: at(1_000),
    }
}

fn dead_letter() -> DeadLetter {
    DeadLetter {
        log: String::from("watchbell_EVENTS_3"),
        sequence: 4_711,
        at: at(9),
        reason: String::from("a value is against a constraint"),
        payload: EVENTS_V1.to_vec(),
    }
}

fn key() -> KeyEntry {
    KeyEntry {
        id: KeyId::from_uuid(uuid(50)),
        org_id: OrgId::from_uuid(uuid(1)),
        scopes: vec![Scope::EventsWrite, Scope::DeliveriesRead],
        expires_at: Some(at(0)),
    }
}

fn rule() -> Rule {
    Rule {
        id: RuleId::from_uuid(uuid(30)),
        org_id: OrgId::from_uuid(uuid(1)),
        definition: Definition::plain(
            "Denied tool calls",
            Pattern::parse(json!({"event_type": ["tool_call"], "metadata": {"n": [1]}}))
                .expect("valid"),
            "https://example.com/hooks",
        ),
        created_at: at(0),
        updated_at: at(1),
        version: 3,
        counts_since: 0,
    }
}

fn message(frames: Frames) -> Vec<u8> {
    let mut messages = frames.into_messages();
    assert_eq!(messages.len(), 1, "small enough for one");
    messages.remove(0)
}

#[test]
fn records_written_by_version_1_decode() {
    assert_eq!(record::events(EVENTS_V1).expect("events"), events());
    assert_eq!(record::outcomes(OUTCOMES_V1).expect("outcomes"), outcomes());
    assert_eq!(record::job(JOB_V1).expect("job"), job());
    assert_eq!(
        record::dead_letter(DEAD_LETTER_V1).expect("dead letter"),
        dead_letter()
    );
    assert_eq!(read_key(KEY_V1).expect("key"), Some(key()));
    assert_eq!(read_rule(RULE_V1).expect("rule"), Some(rule()));
}

#[test]
fn what_is_written_today_is_version_1_to_the_byte() {
    assert_eq!(message(events().iter().collect()), EVENTS_V1);
    assert_eq!(message(outcomes().iter().collect()), OUTCOMES_V1);
    assert_eq!(message([job()].into_iter().collect()), JOB_V1);
    assert_eq!(record::message(&dead_letter()), DEAD_LETTER_V1);
    let hash = domain::account::ApiKey::new([7; 20]).hash();
    assert_eq!(
        Change::key_made(&hash, &key())
            .value
            .expect("a value")
            .as_bytes(),
        KEY_V1
    );
    assert_eq!(
        Change::rule_saved(&rule())
            .value
            .expect("a value")
            .as_bytes(),
        RULE_V1
    );
}

#[test]
fn a_record_of_a_newer_version_is_told_from_a_broken_one() {
    let error = record::events(&[2, 0, 0]).expect_err("version 2");
    assert_eq!(
        error.to_string(),
        "decode event record: version 2 is newer than this program"
    );
    assert!(matches!(error, Error::Newer { version: 2, .. }));
    assert!(matches!(record::events(&[0]), Err(Error::Corrupt { .. })));
    assert!(record::outcomes(&[]).is_err());
    assert!(record::job(&[1, 1]).is_err());
}

#[test]
fn no_bytes_panic() {
    use proptest::prelude::*;
    proptest!(|(bytes: Vec<u8>)| {
        let _ = record::events(&bytes);
        let _ = record::outcomes(&bytes);
        let _ = record::job(&bytes);
        let _ = record::dead_letter(&bytes);
        let versioned: Vec<u8> = std::iter::once(record::VERSION).chain(bytes).collect();
        let _ = record::events(&versioned);
        let _ = record::outcomes(&versioned);
        let _ = record::job(&versioned);
        let _ = record::dead_letter(&versioned);
    });
}
