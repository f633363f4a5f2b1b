//! The audit event that says that a decision was not obeyed.

use crate::{
    EventId,
    id::{Tail, derived},
};

/// The `event_type` of that event.
pub const EVENT_TYPE: &str = "integrity";

/// The `action` of that event.
pub const DISOBEYED: &str = "decision.disobeyed";

/// The `result` of that event.
pub const VIOLATION: &str = "violation";

/// What makes its id beside its time: found again, it is the same event.
pub fn event_tail(done: EventId) -> Tail {
    Tail::Derived(derived(done.uuid().as_bytes(), DISOBEYED.as_bytes()))
}
