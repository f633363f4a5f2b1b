//! The audit event that says that a delivery was given up.

use crate::{
    DeliveryId,
    id::{Tail, derived},
};

/// The `event_type` of that event.
pub const EVENT_TYPE: &str = "delivery_failure";

/// What makes its id beside its time: told again it is the same event.
pub fn event_tail(delivery: DeliveryId, attempts: u32) -> Tail {
    Tail::Derived(derived(delivery.uuid().as_bytes(), &attempts.to_le_bytes()))
}
