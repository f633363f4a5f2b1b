//! Audit events of an ordinary size: about 450 bytes each as stored.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use domain::Timestamp;
use serde_json::{Value, json};

/// How many days back the events of a [`history`] lie.
const DAYS: i64 = 30;
const DAY_MILLIS: i64 = 24 * 3600 * 1000;

/// The body of a request that carries `count` events of now.
pub(crate) fn batch(count: usize) -> Bytes {
    body((0..count).map(event))
}

/// Bodies of 100 events each, spread over the last month, with the fields that people search by.
pub(crate) fn history() -> Vec<Bytes> {
    const BODIES: usize = 300;
    const PER_BODY: usize = 100;
    let now = now();
    (0..BODIES)
        .map(|body_number| {
            let events = (0..PER_BODY).map(|place| {
                let number = body_number * PER_BODY + place;
                // Steps of some two hours: neighbours in a body lie days apart.
                let back = i64::try_from(number).unwrap_or(0) * 7_919_001 % (DAYS * DAY_MILLIS);
                let mut event = event(number);
                event["occurred_at"] = json!(Timestamp::from_unix_millis(now - back));
                event["session_id"] = json!(format!("session-{:06}", number / 10));
                event["trace_id"] = json!(format!("trace-{number:08}"));
                event["severity"] = json!(["info", "low", "medium", "high"][number % 4]);
                event
            });
            body(events)
        })
        .collect()
}

/// Three events of a kind that there is nowhere else, ten days old.
pub(crate) fn rare() -> Bytes {
    let events = (0..3).map(|number| {
        let mut event = event(number);
        event["occurred_at"] = json!(days_ago(10));
        event["result"] = json!("quarantined");
        event["metadata"] = json!({"note": "needle in the haystack"});
        event
    });
    body(events)
}

fn body(events: impl Iterator<Item = Value>) -> Bytes {
    Bytes::from(json!({ "events": events.collect::<Vec<_>>() }).to_string())
}

fn event(number: usize) -> Value {
    const ACTIONS: [&str; 4] = ["files.delete", "files.read", "payments.refund", "mail.send"];
    json!({
        "event_type": if number.is_multiple_of(3) { "api_request" } else { "tool_call" },
        "agent_id": format!("agent-{:04}", number % 50),
        "action": ACTIONS[number % ACTIONS.len()],
        "result": if number.is_multiple_of(100) { "denied" } else { "success" },
        "resource": format!("s3://bucket-{}/objects/{number:016x}", number % 100),
        "latency_ms": number % 5_000,
        "metadata": {"tool": "delete_object", "ip": "203.0.113.7", "region": "eu-central-1", "reason": "policy requires an approval"},
    })
}

pub(crate) fn days_ago(days: i64) -> Timestamp {
    Timestamp::from_unix_millis(now() - days * DAY_MILLIS)
}

#[expect(
    clippy::disallowed_methods,
    reason = "events are sent now, to a server that knows what time it is"
)]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0))
}
