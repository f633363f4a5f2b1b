//! Questions as `bench decide` asks them: read, put into Cedar's terms, answered by 100 policies, and put on record as an
//! event. The record is like the server's and not the server's own, whose crate would take minutes to build optimized.

use std::{fmt::Write as _, hint::black_box, time::Duration};

use domain::{
    event::{Source, accept::Arrival, reserved::DECISION},
    id::{RANDOM_BYTES, Tail},
};
use journal::{frames::Frames, system_events};
use policy::{CedarRequest, Decided, ENGINE, PolicySet, Question, Verdict, recorded::result};
use serde::{Deserialize, Serialize};
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use super::{NOW, Work, org};

pub(super) const QUESTIONS: u64 = 50;
const POLICIES: u64 = 100;
/// Policies that no scope keeps away from a question.
const GENERAL: u64 = 5;
/// What a record has beside its question, about.
const RECORD_BYTES: usize = 1024;

#[derive(Deserialize)]
struct Body {
    agent_id: String,
    action: String,
    resource: Option<String>,
    context: Map<String, Value>,
}

#[derive(Serialize)]
struct Recorded<'a> {
    event_type: &'static str,
    agent_id: &'a str,
    action: &'a str,
    resource: Option<&'a str>,
    result: &'static str,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    took_us: u32,
    decision: Verdict,
    reason: &'a str,
    policies: Vec<&'a str>,
    policy_version: u32,
    policy_digest: &'a str,
    engine: &'static str,
    question: &'a RawValue,
    request_digest: String,
}

pub(super) fn prepare() -> Work {
    let policies = PolicySet::read(&texts(), None).expect("policies written by us");
    let questions: Vec<String> = (0..QUESTIONS).map(question).collect();
    Box::new(move || {
        for text in &questions {
            black_box(decide(&policies, text));
        }
    })
}

fn decide(policies: &PolicySet, text: &str) -> Vec<Vec<u8>> {
    let body: Body = serde_json::from_str(text).expect("a question written by us");
    let (agent, action, resource) = (body.agent_id, body.action, body.resource);
    let question = Question::of_agent(&agent, &action, resource.as_deref(), body.context);
    let request = CedarRequest::by_somebody(&question).expect("Cedar can express it");
    // Written once, and pasted into the record.
    let question_json = to_raw_value(&question).expect("a question always encodes");
    let decided = policies.decide_at(NOW, &request, None, false);
    assert_eq!(decided.verdict, Verdict::Allow, "{text}");
    let Decided {
        verdict, reason, ..
    } = &decided;
    let recorded = Recorded {
        event_type: DECISION,
        agent_id: &agent,
        action: &action,
        resource: resource.as_deref(),
        result: result(*verdict),
        metadata: Metadata {
            took_us: 100,
            decision: *verdict,
            reason,
            policies: decided.policies.iter().map(|one| &*one.id).collect(),
            policy_version: 2,
            policy_digest: policies.digest(),
            engine: &ENGINE,
            question: &question_json,
            request_digest: question.digest(None),
        },
    };
    let arrival = Arrival {
        org: org(),
        source: Source::Server,
        received_at: NOW,
        retention: Duration::from_hours(24),
    };
    let (mut frames, tail) = (Frames::default(), Tail::Random([7; RANDOM_BYTES]));
    let bytes = question_json.get().len() + RECORD_BYTES;
    system_events::write_unread(&mut frames, tail, &arrival, &recorded, bytes);
    frames.into_messages()
}

/// Policies for agents that may each do one thing, and some that look at every question.
fn texts() -> String {
    let mut text = String::new();
    for number in 0..GENERAL {
        let amount = 1_000_000 + number;
        let _ = writeln!(
            text,
            "@id(\"general-{number}\")\nforbid (principal, action, resource) when {{ context.amount > {amount} }};",
        );
    }
    for number in 0..POLICIES - GENERAL {
        let _ = writeln!(
            text,
            "@id(\"agent-{number}\")\npermit (principal == Agent::\"agent-{number}\", action == Action::\"area{number}.pay\", resource)\nwhen {{ context.amount <= 1000 && context.region == \"eu\" && [\"EUR\", \"CHF\"].contains(context.currency) }};"
        );
    }
    text
}

fn question(number: u64) -> String {
    let agent = number * 7 % (POLICIES - GENERAL);
    serde_json::json!({
        "agent_id": format!("agent-{agent}"), "action": format!("area{agent}.pay"),
        "resource": format!("invoice:{number}"),
        "context": {"amount": 250, "region": "eu", "currency": "EUR", "ip": "203.0.113.9", "trusted": true},
    })
    .to_string()
}
