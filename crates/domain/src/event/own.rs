//! Events that the server writes itself, as they will be stored.
//!
//! What a client sends is read to its bottom at the door ([`super::accept()`]). What we write is not read again: its shape is ours,
//! and what a customer says in it was checked by who puts it there ([`super::check::fault_of_call`]). Debug builds, and so all tests,
//! compare with what the door makes of it.

use std::io::Write as _;

use serde::Serialize;

use super::accept::Arrival;
use crate::{EventId, id::Tail};

/// What the server knows of an event, in front of it.
const FRONT_BYTES: usize = 192;

/// An event and its id. It brings neither a time nor a name of its own, and has about so many bytes.
pub fn written(
    event: &impl Serialize,
    arrival: &Arrival,
    tail: Tail,
    bytes: usize,
) -> (EventId, String) {
    let Arrival {
        source,
        received_at,
        ..
    } = arrival;
    let id = EventId::with_tail(*received_at, tail);
    let mut json = Vec::with_capacity(FRONT_BYTES + bytes);
    write!(
        json,
        r#"{{"id":"{}","received_at":"{received_at}","source":"{source}","occurred_at":"{received_at}""#,
        id.text().as_str(),
    )
    .expect("writing to memory does not fail");
    let brace = json.len();
    serde_json::to_writer(&mut json, event).expect("an event of ours is a struct of plain fields");
    json[brace] = b',';
    let json = String::from_utf8(json).expect("JSON is UTF-8");
    #[cfg(debug_assertions)]
    assert_accepted(event, arrival, tail, (id, &json));
    (id, json)
}

/// That the door would take the event, and store the same bytes.
#[cfg(debug_assertions)]
fn assert_accepted(
    event: &impl Serialize,
    arrival: &Arrival,
    tail: Tail,
    (id, json): (EventId, &str),
) {
    let sent = serde_json::to_string(event).expect("it was written before");
    let mut stored = String::new();
    let accepted = super::accept(&super::Sent::bare(&sent), arrival, tail, &mut stored);
    assert_eq!(accepted, Ok(id), "{sent}");
    assert_eq!(stored, json);
}
