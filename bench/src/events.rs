//! Audit events of an ordinary size: about 450 bytes each as stored.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use domain::Timestamp;
use serde_json::{Value, json};

const DAY_MILLIS: i64 = 24 * 3600 * 1000;
/// What stands in a body for a moment, of the same length.
const MOMENT: &[u8] = b"9999-12-31T23:59:59.999Z";

/// The body of a request that carries `count` events of now.
pub(crate) fn batch(count: usize) -> Bytes {
    body((0..count).map(event))
}

/// Events as they come in over a stretch of time that ends now, with the fields that people search by.
pub(crate) struct History {
    bodies: Vec<Vec<u8>>,
    begins: i64,
    ends: i64,
}

impl History {
    /// Events of one body.
    pub(crate) const PER_BODY: usize = 100;

    pub(crate) fn of(span: Duration) -> Self {
        const BODIES: usize = 300;
        let event = |number: usize| {
            let mut event = event(number);
            event["occurred_at"] = json!(String::from_utf8_lossy(MOMENT));
            event["session_id"] = json!(format!("session-{:06}", number / 10));
            event["trace_id"] = json!(format!("trace-{number:08}"));
            event["severity"] = json!(["info", "low", "medium", "high"][number % 4]);
            event
        };
        let first = |body: usize| body * Self::PER_BODY;
        let ends = now();
        Self {
            bodies: (0..BODIES)
                .map(|number| body((first(number)..first(number + 1)).map(event)).to_vec())
                .collect(),
            begins: ends - i64::try_from(span.as_millis()).unwrap_or(0),
            ends,
        }
    }

    /// The body `number` of `count`: its events occurred in one moment.
    pub(crate) fn body(&self, number: usize, count: usize) -> Bytes {
        let part =
            |of: i64| of * i64::try_from(number).unwrap_or(0) / i64::try_from(count).unwrap_or(1);
        let at =
            Timestamp::from_unix_millis(self.begins + part(self.ends - self.begins)).to_string();
        let mut body = self.bodies[number % self.bodies.len()].clone();
        let mut from = 0;
        while let Some(place) = find(&body[from..]) {
            let place = from + place;
            body[place..place + MOMENT.len()].copy_from_slice(at.as_bytes());
            from = place + MOMENT.len();
        }
        Bytes::from(body)
    }
}

/// Where the next moment is to be put.
fn find(body: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let quote = from + body[from..].iter().position(|byte| *byte == b'9')?;
        if body[quote..].starts_with(MOMENT) {
            return Some(quote);
        }
        from = quote + 1;
    }
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
/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0))
}
