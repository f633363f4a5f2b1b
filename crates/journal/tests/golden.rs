//! Records as they were written by every version so far: they decode for as long as old bytes may
//! exist. A file here is never changed; a new shape is a new version and a new file.

use domain::{
    AttemptId, DeliveryId, EventId, KeyId, OrgId, RuleId, SecretId, Timestamp,
    account::{Agents, Scope},
    delivery::{
        Cause, Outcome, Reason, State, Trigger,
        endpoint::{Endpoint, Failing, Notice, OpenBreaker, Status, Why},
        ownership::{Asking, Ownership, Proof},
    },
    rule::{
        Definition, Pattern, Rule,
        throttle::{Group, Groups},
    },
};
use journal::{
    Error,
    endpoints::{endpoint_value, read_endpoint},
    frames::Frames,
    kv::{Change, KeyEntry, read_key, read_rule},
    ownership::{ownership_value, read_ownership},
    record::{
        self, Alerted, Attempted, Counted, DeadLetter, Ended, EndpointNoticed, EventRecord, Job,
        Judged, Matched, OutcomeRecord, Paced, Position, SecretUsed, StateChanged, Timings,
    },
};
use serde_json::json;
use uuid::Uuid;

const EVENTS_V1: &[u8] = include_bytes!("../golden/events.v1.bin");
const OUTCOMES_V1: &[u8] = include_bytes!("../golden/outcomes.v1.bin");
const JOB_V1: &[u8] = include_bytes!("../golden/job.v1.bin");
const DEAD_LETTER_V1: &[u8] = include_bytes!("../golden/dead-letter.v1.bin");
const EVENTS_V2: &[u8] = include_bytes!("../golden/events.v2.bin");
const OUTCOMES_V2: &[u8] = include_bytes!("../golden/outcomes.v2.bin");
const JOB_V2: &[u8] = include_bytes!("../golden/job.v2.bin");
const DEAD_LETTER_V2: &[u8] = include_bytes!("../golden/dead-letter.v2.bin");
const EVENTS_V3: &[u8] = include_bytes!("../golden/events.v3.bin");
const OUTCOMES_V3: &[u8] = include_bytes!("../golden/outcomes.v3.bin");
const JOBS_V3: &[u8] = include_bytes!("../golden/jobs.v3.bin");
const DEAD_LETTER_V3: &[u8] = include_bytes!("../golden/dead-letter.v3.bin");
const EVENTS_V4: &[u8] = include_bytes!("../golden/events.v4.bin");
const OUTCOMES_V4: &[u8] = include_bytes!("../golden/outcomes.v4.bin");
const DEAD_LETTER_V4: &[u8] = include_bytes!("../golden/dead-letter.v4.bin");
const JOBS_V5: &[u8] = include_bytes!("../golden/jobs.v5.bin");
const ENDPOINT_V1: &[u8] = include_bytes!("../golden/endpoint.v1.json");
const UNVERIFIED_V1: &[u8] = include_bytes!("../golden/ownership-unverified.v1.json");
const VERIFIED_V1: &[u8] = include_bytes!("../golden/ownership-verified.v1.json");
const KEY_V1: &[u8] = include_bytes!("../golden/key.v1.json");
const KEY_BOUND_V1: &[u8] = include_bytes!("../golden/key-bound.v1.json");
const RULE_V1: &[u8] = include_bytes!("../golden/rule.v1.json");

const EVENT_JSON: &str = r#"{"id":"evt_01jcq3k5m8e9ratvw2x4y6z8ab","received_at":"2026-11-15T09:30:00.125Z","event_type":"tool_call","agent_id":"agent-é","action":"files.delete","result":"denied"}"#;

/// The same, since events say who wrote them.
const SOURCED_JSON: &str = r#"{"id":"evt_01jcq3k5m8e9ratvw2x4y6z8ab","received_at":"2026-11-15T09:30:00.125Z","source":"key_01jcnkrkaye00800000000001j","event_type":"tool_call","agent_id":"agent-é","action":"files.delete","result":"denied"}"#;

fn uuid(last: u128) -> Uuid {
    Uuid::from_u128(0x0193_2b3c_4d5e_7000_8000_0000_0000_0000 + last)
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(1_794_735_000_000 + millis)
}

fn events(json: &'static str) -> Vec<EventRecord<'static>> {
    let event = |number: u32| EventRecord {
        org: OrgId::from_uuid(uuid(1)),
        id: EventId::from_uuid(uuid(10 + u128::from(number))),
        received_at: at(i64::from(number)),
        json,
    };
    vec![event(1), event(2)]
}

fn matched(cause: Cause) -> Matched {
    Matched {
        org: OrgId::from_uuid(uuid(1)),
        delivery: DeliveryId::from_uuid(uuid(20)),
        event: EventId::from_uuid(uuid(11)),
        rule: RuleId::from_uuid(uuid(30)),
        rule_name: String::from("Denied tool calls"),
        event_type: String::from("tool_call"),
        url: String::from("https://example.com/hooks"),
        matched_at: at(5),
        cause,
    }
}

/// What version 1 could say.
fn outcomes() -> Vec<OutcomeRecord> {
    let Matched {
        org, delivery, url, ..
    } = matched(Cause::Match);
    vec![
        OutcomeRecord::Matched(matched(Cause::Match)),
        OutcomeRecord::Attempted(Box::new(Attempted {
            id: AttemptId::from_uuid(uuid(40)),
            org,
            delivery,
            number: 2,
            trigger: Trigger::Retry,
            due_at: at(1_000),
            started_at: at(1_001),
            finished_at: at(1_020),
            timings: Timings::default(),
            signed_at: at(1_001),
            secrets: Vec::new(),
            url,
            remote_address: Some(String::from("93.184.216.34:443")),
            tls: None,
            body_sha256: String::from("00ff"),
            body_bytes: 312,
            status: Some(503),
            outcome: Outcome::Transient,
            error: Some(String::from("The receiver answered 503.")),
            answer_headers: Vec::new(),
            answer: String::from("busy"),
            clock_skew_s: None,
            retry_after_s: None,
            state: State::Scheduled,
            reason: None,
            next_at: Some(at(6_020)),
        })),
    ]
}

/// What version 2 says beside that.
fn judgment() -> Vec<OutcomeRecord> {
    let Matched {
        org, event, rule, ..
    } = matched(Cause::Match);
    let group = |text: &str| Group::from(text.to_owned());
    let paced = Paced {
        message: 4_711,
        at: at(4),
        counts_since: 2,
        groups: Groups {
            threshold: Some(group(r#"["agent-é"]"#)),
            suppress: None,
        },
        overflowed: false,
    };
    vec![
        OutcomeRecord::Judged(Judged {
            created: String::from("1794735000125000000"),
            position: Position {
                sequence: 4_710,
                records: 3,
            },
            is_partial: true,
            settled: 812,
            since: 700,
            at: at(4),
        }),
        OutcomeRecord::Counted(Counted {
            org,
            event,
            rule,
            paced: paced.clone(),
        }),
        OutcomeRecord::Alerted(Box::new(Alerted {
            matched: matched(Cause::Match),
            state: State::Suppressed,
            paced,
        })),
        OutcomeRecord::Ended(Box::new(Ended {
            org,
            rule,
            counts_since: 2,
            group: group("[]"),
            message: 4_709,
            summary: Some(matched(Cause::Summary { suppressed: 3 })),
        })),
        OutcomeRecord::Matched(matched(Cause::Test)),
    ]
}

fn job(cause: Cause) -> Job {
    Job {
        matched: matched(cause),
        json: String::from(EVENT_JSON),
        attempt: 2,
        trigger: Trigger::Retry,
        due_at: at(1_000),
        step: 1,
        since: at(5),
        held: None,
    }
}

/// What version 3 says beside that.
fn deliveries() -> Vec<OutcomeRecord> {
    let Matched { org, delivery, .. } = matched(Cause::Match);
    let Some(OutcomeRecord::Attempted(attempted)) = outcomes().pop() else {
        panic!("an attempt is last");
    };
    let attempted = Attempted {
        number: 3,
        trigger: Trigger::Recover,
        timings: Timings {
            resolved_us: Some(1_100),
            connected_us: Some(2_200),
            secured_us: Some(9_300),
            sent_us: Some(9_400),
            answered_us: Some(18_500),
        },
        secrets: vec![
            SecretUsed::Own(SecretId::from_uuid(uuid(60))),
            SecretUsed::Deployment,
        ],
        tls: Some(String::from("TLSv1.3")),
        status: Some(410),
        outcome: Outcome::Gone,
        answer_headers: vec![(String::from("retry-after"), String::from("30"))],
        clock_skew_s: Some(-12),
        retry_after_s: Some(30),
        state: State::Held,
        reason: Some(Reason::Disabled),
        next_at: None,
        ..*attempted
    };
    vec![
        OutcomeRecord::Attempted(Box::new(attempted)),
        OutcomeRecord::StateChanged(StateChanged {
            org,
            delivery,
            state: State::Canceled,
            reason: Some(Reason::User),
            next_at: None,
            round_at: at(2_000),
        }),
        OutcomeRecord::Endpoint(Box::new(EndpointNoticed {
            endpoint: endpoint(),
            notice: Notice::FailingForAnHour,
            error: Some(String::from("The receiver answered 503.")),
            at: at(3_000),
        })),
    ]
}

fn ownership(proof: Proof) -> Ownership {
    let org = OrgId::from_uuid(uuid(1));
    Ownership {
        proof,
        ..Ownership::new(org, "https://example.com/hooks", at(0))
    }
}

fn endpoint() -> Endpoint {
    Endpoint {
        status: Status::Disabled {
            since: at(7),
            why: Why::Gone,
        },
        breaker: Some(OpenBreaker {
            since: at(1),
            probes: 3,
            probe_at: at(40_000),
        }),
        quiet_until: Some(at(30_000)),
        gone_at: Some(at(5)),
        failing: Some(Failing {
            since: at(0),
            attempts: 20,
            notices: 2,
            rejected: 1,
            told_rejecting: true,
            told_redirecting: false,
        }),
        ..Endpoint::new(OrgId::from_uuid(uuid(1)), "https://example.com/hooks")
    }
}

/// A bundle of two.
fn jobs() -> Vec<Job> {
    let held = Job {
        trigger: Trigger::Resend,
        held: Some(Reason::Breaker),
        ..job(Cause::Match)
    };
    vec![job(Cause::Summary { suppressed: 3 }), held]
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
        agents: Agents::default(),
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
    let events = events(EVENT_JSON);
    assert_eq!(record::events(EVENTS_V1).expect("events"), events);
    assert_eq!(record::outcomes(OUTCOMES_V1).expect("outcomes"), outcomes());
    assert_eq!(record::jobs(JOB_V1).expect("job"), [job(Cause::Match)]);
    assert_eq!(
        record::dead_letter(DEAD_LETTER_V1).expect("dead letter"),
        dead_letter()
    );
    assert_eq!(read_key(KEY_V1).expect("key"), Some(key()));
    assert_eq!(read_rule(RULE_V1).expect("rule"), Some(rule()));
}

#[test]
fn records_written_by_version_2_decode() {
    let outcomes = [outcomes(), judgment()].concat();
    let job = job(Cause::Summary { suppressed: 3 });
    let events = events(EVENT_JSON);
    assert_eq!(record::events(EVENTS_V2).expect("events"), events);
    assert_eq!(record::outcomes(OUTCOMES_V2).expect("outcomes"), outcomes);
    assert_eq!(record::jobs(JOB_V2).expect("job"), [job]);
    let dead = record::dead_letter(DEAD_LETTER_V2);
    assert_eq!(dead.expect("dead letter"), dead_letter());
}

#[test]
fn what_is_written_today_is_version_4_to_the_byte_and_decodes() {
    let outcomes = [outcomes(), judgment(), deliveries()].concat();
    let events = events(SOURCED_JSON);
    assert_eq!(message(events.iter().collect()), EVENTS_V4);
    assert_eq!(message(outcomes.iter().collect()), OUTCOMES_V4);
    assert_eq!(record::message(&dead_letter()), DEAD_LETTER_V4);
    assert_eq!(record::events(EVENTS_V4).expect("events"), events);
    assert_eq!(record::outcomes(OUTCOMES_V4).expect("outcomes"), outcomes);
    let dead = record::dead_letter(DEAD_LETTER_V4);
    assert_eq!(dead.expect("dead letter"), dead_letter());
}

#[test]
fn deliveries_are_written_as_version_3_wrote_them_so_that_an_older_process_sends_them() {
    let jobs = jobs();
    assert_eq!(
        record::message_of_jobs(&jobs.iter().collect::<Vec<_>>()),
        JOBS_V3
    );
}

#[test]
fn deliveries_of_several_rules_are_of_a_version_that_an_older_process_leaves_alone() {
    let mut jobs = jobs();
    jobs[1].matched.rule = RuleId::from_uuid(uuid(31));
    assert_eq!(
        record::message_of_jobs(&jobs.iter().collect::<Vec<_>>()),
        JOBS_V5
    );
    assert_eq!(record::jobs(JOBS_V5).expect("jobs"), jobs);
}

#[test]
fn records_written_by_version_3_decode() {
    let outcomes = [outcomes(), judgment(), deliveries()].concat();
    let events = events(EVENT_JSON);
    assert_eq!(record::events(EVENTS_V3).expect("events"), events);
    assert_eq!(record::outcomes(OUTCOMES_V3).expect("outcomes"), outcomes);
    assert_eq!(record::jobs(JOBS_V3).expect("jobs"), jobs());
    let dead = record::dead_letter(DEAD_LETTER_V3);
    assert_eq!(dead.expect("dead letter"), dead_letter());
}

#[test]
fn the_values_written_today_are_version_1_to_the_byte() {
    assert_eq!(endpoint_value(&endpoint()).as_bytes(), ENDPOINT_V1);
    let read = read_endpoint(ENDPOINT_V1).expect("an endpoint");
    assert_eq!(read, Some(endpoint()));
    let unverified = ownership(Proof::Unverified(Asking {
        asked: 2,
        asked_at: Some(at(1)),
        ask_at: at(20_000),
        error: Some(String::from("The receiver answered 404.")),
    }));
    let verified = ownership(Proof::Verified { at: at(7) });
    for (value, bytes) in [(unverified, UNVERIFIED_V1), (verified, VERIFIED_V1)] {
        assert_eq!(ownership_value(&value).as_bytes(), bytes);
        assert_eq!(read_ownership(bytes).expect("an ownership"), Some(value));
    }
    let hash = domain::account::ApiKey::new([7; 20]).hash();
    assert_eq!(
        Change::key_made(&hash, &key())
            .value
            .expect("a value")
            .as_bytes(),
        KEY_V1
    );
    // Older versions neither wrote nor read whom a key speaks for.
    let bound = KeyEntry {
        agents: Agents::from(vec![String::from("billing-*")]),
        ..key()
    };
    let written = Change::key_made(&hash, &bound).value.expect("a value");
    assert_eq!(written.as_bytes(), KEY_BOUND_V1);
    assert_eq!(read_key(KEY_BOUND_V1).expect("key"), Some(bound));
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
    let error = record::events(&[5, 0, 0]).expect_err("version 5");
    assert_eq!(
        error.to_string(),
        "decode event record: version 5 is newer than this program"
    );
    assert!(matches!(error, Error::Newer { version: 5, .. }));
    assert!(matches!(record::events(&[0]), Err(Error::Corrupt { .. })));
    assert!(record::outcomes(&[]).is_err());
    assert!(record::jobs(&[1, 1]).is_err());
}

#[test]
fn no_bytes_panic() {
    use proptest::prelude::*;
    proptest!(|(bytes: Vec<u8>)| {
        let _ = record::events(&bytes);
        let _ = record::outcomes(&bytes);
        let _ = record::jobs(&bytes);
        let _ = record::dead_letter(&bytes);
        for version in 1..=record::VERSION {
            let versioned: Vec<u8> = std::iter::once(version).chain(bytes.clone()).collect();
            let _ = record::events(&versioned);
            let _ = record::outcomes(&versioned);
            let _ = record::jobs(&versioned);
            let _ = record::dead_letter(&versioned);
        }
    });
}
