//! Deliveries: a matched event on its way to its rule's endpoint.
//!
//! The cast: [`work`] takes deliveries off the queue, sends them in fair order and settles each; [`send`] makes one
//! attempt, signed with one of the organisation's [`secrets`]; the [`log`] keeps and shows what happened;
//! people have deliveries sent again or canceled ([`asked`]) and see to [`endpoints`] in trouble; [`failure`]
//! tells the trail of what is given up. The rules are in `domain::delivery`.
//!
//! Guaranteed: every match is sent at least once or ends in a state that says why not, and every
//! attempt is on record before the delivery is settled. Not guaranteed: exactly one send. If this
//! process dies between a send and its record, the delivery is sent again; the receiver tells them
//! apart by `X-Service-Delivery-Id`.

pub mod asked;
pub mod endpoints;
pub mod failure;
pub mod log;
pub mod secrets;
pub mod send;
pub mod work;
