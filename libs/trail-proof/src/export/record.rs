//! What the stored bytes of an event or an attempt say of themselves, which must be what the leaf says.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::erasures::Named;
use super::{Problem, ids};
use crate::leaf::{Kind, Leaf};

/// The `event_type` of an erasure.
const ERASURE: &str = "erasure";

/// Refuses bytes that are not about what the leaf names. Returns the records that they say were erased.
pub(super) fn check(leaf: &Leaf, stored: &str) -> Result<Vec<Named>, Problem> {
    match leaf.kind {
        Kind::Event => {
            let event: Event<'_> = object(stored)?;
            check_id(leaf, &event.id)?;
            check_time("occurred_at", &event.occurred_at, leaf.occurred_ms)?;
            check_time("received_at", &event.received_at, leaf.received_ms)?;
            Ok(event.erased().unwrap_or_default())
        }
        Kind::Attempt => {
            let attempt: Attempt<'_> = object(stored)?;
            check_id(leaf, &attempt.id)?;
            check_time("started_at", &attempt.started_at, leaf.occurred_ms)?;
            check_time("finished_at", &attempt.finished_at, leaf.received_ms)?;
            Ok(Vec::new())
        }
    }
}

fn check_id(leaf: &Leaf, id: &str) -> Result<(), Problem> {
    let is_same = ids::decode(id) == Some((leaf.kind, leaf.id));
    let mismatch = Problem::RecordMismatch { member: "id" };
    is_same.then_some(()).ok_or(mismatch)
}

fn check_time(member: &'static str, text: &str, expected_ms: i64) -> Result<(), Problem> {
    let is_same = unix_millis(text) == Some(expected_ms);
    is_same
        .then_some(())
        .ok_or(Problem::RecordMismatch { member })
}

#[derive(Deserialize)]
struct Event<'s> {
    #[serde(borrow)]
    id: Cow<'s, str>,
    #[serde(borrow)]
    occurred_at: Cow<'s, str>,
    #[serde(borrow)]
    received_at: Cow<'s, str>,
    #[serde(borrow)]
    event_type: Option<&'s RawValue>,
    #[serde(borrow)]
    metadata: Option<&'s RawValue>,
}

impl Event<'_> {
    /// What it says was erased; `None` if it is not about that.
    fn erased(&self) -> Option<Vec<Named>> {
        let event_type: Cow<'_, str> = serde_json::from_str(self.event_type?.get()).ok()?;
        if event_type != ERASURE {
            return None;
        }
        let erased: Erased = object(self.metadata?.get()).ok()?;
        Some(erased.ids.iter().filter_map(|id| ids::decode(id)).collect())
    }
}

#[derive(Deserialize)]
struct Attempt<'s> {
    #[serde(borrow)]
    id: Cow<'s, str>,
    #[serde(borrow)]
    started_at: Cow<'s, str>,
    #[serde(borrow)]
    finished_at: Cow<'s, str>,
}

/// The `metadata` of an erasure.
#[derive(Deserialize)]
struct Erased {
    ids: Vec<String>,
}

/// Reads an object. Serde would take an array for one, too.
fn object<'s, T: Deserialize<'s>>(json: &'s str) -> Result<T, Problem> {
    let space = [' ', '\t', '\n', '\r'];
    if !json.trim_start_matches(space).starts_with('{') {
        return Err(Problem::RecordMalformed);
    }
    serde_json::from_str(json).map_err(|_| Problem::RecordMalformed)
}

/// Finer fractions than a millisecond are cut, as the server does.
fn unix_millis(text: &str) -> Option<i64> {
    let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    i64::try_from(moment.unix_timestamp_nanos().div_euclid(1_000_000)).ok()
}
