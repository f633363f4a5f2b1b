//! The event that an erasure is in the trail: whose it was, why, and what it erased.

use domain::{ErasureId, EventId, event::reserved::ERASURE};
use serde::Serialize;

/// How many events one event of ours tells of: their ids (33 bytes each) and the longest reason (3,000 bytes as JSON) are
/// within what `metadata` may have (16 KiB).
pub(super) const EVENTS_MAX: usize = 300;
/// The longest reason.
pub(super) const REASON_CHARS_MAX: usize = 500;

/// An erasure as the trail has it. Verifiers read `metadata.ids`.
#[derive(Serialize)]
pub(super) struct ErasureEvent<'a> {
    event_type: &'static str,
    agent_id: &'a str,
    action: &'static str,
    result: &'static str,
    metadata: Metadata<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    erasure_id: ErasureId,
    reason: &'a str,
    ids: &'a [EventId],
}

impl<'a> ErasureEvent<'a> {
    pub(super) fn of(
        id: ErasureId,
        asked_by: &'a str,
        reason: &'a str,
        ids: &'a [EventId],
    ) -> Self {
        Self {
            event_type: ERASURE,
            agent_id: asked_by,
            action: "audit.erase",
            result: "success",
            metadata: Metadata {
                erasure_id: id,
                reason,
                ids,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Timestamp, event::METADATA_BYTES_MAX};

    use super::*;

    #[test]
    fn the_longest_is_within_what_metadata_may_have() {
        let id = |number: usize| {
            let at = Timestamp::from_unix_millis(1_700_000_000_000);
            EventId::new(at, [u8::try_from(number % 256).unwrap_or(0); 10])
        };
        let ids: Vec<EventId> = (0..EVENTS_MAX).map(id).collect();
        let reason = "\u{1f}".repeat(REASON_CHARS_MAX);
        let erasure = ErasureId::new(Timestamp::from_unix_millis(0), [0; 10]);
        let event = ErasureEvent::of(erasure, "usr_x", &reason, &ids);
        let metadata = serde_json::to_vec(&event.metadata).expect("JSON");
        assert!(metadata.len() <= METADATA_BYTES_MAX, "{}", metadata.len());
    }
}
