//! Deliveries: a matched event on its way to its rule's endpoint.
//!
//! The cast: [`work`] takes due deliveries off the queue and settles each; [`target`] says where a
//! webhook may go; [`send`] makes one attempt, signed by [`signing`]; [`record`] writes what happened
//! to the store; [`show`] shows it; [`failure`] tells the trail of what is given up. When to try again is decided in `domain::delivery::schedule`.
//!
//! Guaranteed: every match is sent at least once or ends in a state that says why not, and every
//! attempt is on record before the delivery is settled. Not guaranteed: exactly one send. If this
//! process dies between a send and its record, the delivery is sent again; the receiver tells them
//! apart by `X-Service-Delivery-Id`.

pub mod address;
mod again;
pub mod balance;
pub mod cancel;
pub mod endpoints;
mod explain;
pub mod failure;
pub mod list;
pub mod notice;
pub mod notice_mail;
pub mod reconcile;
pub mod record;
pub mod recover;
pub mod resend;
pub mod send;
pub mod show;
pub mod signing;
pub mod target;
pub mod work;
