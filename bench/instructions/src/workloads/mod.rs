//! What is counted: the same work in every run, on one thread, without clock and without chance.
//!
//! - [`decide`]: questions, asked of 100 policies and put on record.
//! - [`ingest`]: a batch of events, read, checked and packed for the journal.
//! - [`matching`]: events before 1,000 alert rules.
//! - [`schedule`]: deliveries that fail until they are given up.
//! - [`sign`]: bodies, headers and signatures of deliveries.

mod decide;
mod ingest;
mod matching;
mod schedule;
mod sign;

use clap::ValueEnum;
use domain::{KeyId, OrgId, Timestamp};
use uuid::Uuid;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Workload {
    Decide,
    Ingest,
    Match,
    Schedule,
    Sign,
}

/// Work that can be done again and again.
pub(crate) type Work = Box<dyn FnMut()>;

impl Workload {
    pub(crate) const ALL: [Self; 5] = [
        Self::Decide,
        Self::Ingest,
        Self::Match,
        Self::Schedule,
        Self::Sign,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Decide => "decide",
            Self::Ingest => "ingest",
            Self::Match => "match",
            Self::Schedule => "schedule",
            Self::Sign => "sign",
        }
    }

    /// Everything that the work needs, made before anything is counted.
    pub(crate) fn prepare(self) -> Work {
        match self {
            Self::Decide => decide::prepare(),
            Self::Ingest => ingest::prepare(),
            Self::Match => matching::prepare(),
            Self::Schedule => schedule::prepare(),
            Self::Sign => sign::prepare(),
        }
    }

    /// How many decisions, events, attempts or deliveries the work is about: counts are those of one.
    pub(crate) fn times(self) -> u64 {
        match self {
            Self::Decide => decide::QUESTIONS,
            Self::Ingest => ingest::EVENTS,
            Self::Match => matching::EVENTS,
            Self::Schedule => schedule::DELIVERIES,
            Self::Sign => sign::DELIVERIES,
        }
    }
}

/// When all of it happens.
const NOW: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

fn org() -> OrgId {
    OrgId::from_uuid(Uuid::from_u128(1))
}

fn key() -> KeyId {
    KeyId::from_uuid(Uuid::from_u128(2))
}

/// An event of ordinary size, as a client sends it.
fn event(number: u64) -> String {
    let (agent, bucket) = (number % 50, number % 100);
    let action = ["files.delete", "files.read", "payments.refund", "mail.send"];
    let action = action[usize::try_from(number % 4).expect("a small number")];
    let result = if number.is_multiple_of(10) {
        "denied"
    } else {
        "success"
    };
    serde_json::json!({
        "event_type": "tool_call", "agent_id": format!("agent-{agent:04}"), "action": action, "result": result,
        "resource": format!("s3://bucket-{bucket}/objects/{number:016x}"), "latency_ms": number % 5_000,
        "metadata": {"tool": "delete_object", "ip": "203.0.113.7", "region": "eu-central-1", "reason": "policy requires an approval"},
    })
    .to_string()
}
