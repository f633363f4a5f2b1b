//! What one ingest request carries: `{"events": [...]}` or one bare event object.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The most events one request may carry.
pub const EVENTS_MAX: usize = 1_000;
/// The most bytes one request may carry.
pub const BODY_BYTES_MAX: usize = 5 * 1024 * 1024;

/// The events of a request body, each still as sent.
#[derive(Debug)]
pub struct Batch<'a> {
    pub events: Vec<&'a RawValue>,
    /// The body is the one event itself.
    is_bare: bool,
}

impl Batch<'_> {
    /// The RFC 6901 pointer to an event of the batch.
    pub fn pointer_to(&self, index: usize) -> String {
        if self.is_bare {
            String::new()
        } else {
            format!("/events/{index}")
        }
    }
}

/// Reads a request body as far as its events.
pub fn parse(body: &[u8]) -> Result<Batch<'_>, Unreadable> {
    let is_bare = !starts_with_events(body);
    let events = if is_bare {
        vec![serde_json::from_slice(body)?]
    } else {
        serde_json::from_slice::<Envelope<'_>>(body)?.events
    };
    match events.len() {
        0 => Err(Unreadable::Empty),
        1..=EVENTS_MAX => Ok(Batch { events, is_bare }),
        count => Err(Unreadable::TooMany { count }),
    }
}

/// Why a body is not a batch.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("The body is not JSON of the form {{\"events\": [...]}} or one event: {0}.")]
    NotJson(#[from] serde_json::Error),
    #[error("The batch carries no event.")]
    Empty,
    #[error("The batch carries {count} events; a request takes at most {EVENTS_MAX}. Split it.")]
    TooMany { count: usize },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

/// An event has no field `events`, so the first key tells the two forms apart without parsing twice.
fn starts_with_events(body: &[u8]) -> bool {
    let inside = body
        .trim_ascii_start()
        .strip_prefix(b"{")
        .map(<[u8]>::trim_ascii_start);
    inside.is_some_and(|inside| inside.starts_with(b"\"events\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_forms_are_read() {
        assert_eq!(
            parse(br#"{"events":[{"a":1},{"b":2}]}"#)
                .expect("batch")
                .events
                .len(),
            2
        );
        let bare = parse(br#" { "event_type": "x" } "#).expect("bare");
        assert_eq!(bare.events.len(), 1);
        assert_eq!(bare.pointer_to(0), "");
    }

    #[test]
    fn what_is_not_a_batch_is_refused() {
        for body in [
            "",
            "{",
            r#"{"events":{}}"#,
            r#"{"events":[1],"more":2}"#,
            "nonsense",
        ] {
            assert!(
                matches!(parse(body.as_bytes()), Err(Unreadable::NotJson(_))),
                "{body}"
            );
        }
        assert!(matches!(parse(br#"{"events":[]}"#), Err(Unreadable::Empty)));
        let many = format!(r#"{{"events":[{}1]}}"#, "1,".repeat(EVENTS_MAX));
        assert!(matches!(
            parse(many.as_bytes()),
            Err(Unreadable::TooMany { count: 1_001 })
        ));
    }

    proptest! {
        #[test]
        fn no_body_panics(body: Vec<u8>) {
            let _ = parse(&body);
        }
    }
}
