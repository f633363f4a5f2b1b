//! Deliveries: a matched event on its way to its rule's endpoint.
//!
//! The cast: [`work`] takes deliveries off the queue, sends them in fair order and settles each; [`send`] makes one
//! attempt, signed with one of the organization's [`secrets`]; [`endpoints`] tells what happens to endpoints, and asks whose
//! they are; [`failure_event`] tells the trail of what is given up. What people decided, and what other workers learned, is held
//! in memory ([`snapshots`]). The rules are in `domain::delivery`.
//!
//! Nothing here can reach PostgreSQL: deliveries go on without it (`deny.toml`).
//!
//! Guaranteed: every match is sent at least once or ends in a state that says why not, and every
//! attempt is on record before the delivery is settled. Not guaranteed: exactly one send. If this
//! process dies between a send and its record, the delivery is sent again; the receiver tells them
//! apart by `X-Service-Delivery-Id`.

pub mod endpoints;
pub mod failure_event;
pub mod metrics;
pub mod secrets;
pub mod send;
pub mod snapshots;
pub mod work;

/// The most sends to one endpoint at a time, and so the idle connections kept to one receiver.
pub const ENDPOINT_CONCURRENCY_MOST: u32 = 64;
