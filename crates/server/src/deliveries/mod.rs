//! Deliveries: a matched event on its way to its rule's endpoint.
//!
//! The cast: [`work`] takes due deliveries off the queue and settles each; [`target`] says where a
//! webhook may go; [`send`] makes one attempt, with the [`head`] and signed by [`signing`] with the deployment's
//! secret or the organisation's own [`secrets`]; [`record`] writes what happened
//! to the store; [`show`] shows it, and [`rebuild`] what was sent, to the byte; [`failure`] tells the trail of what is given up. When to try again is decided in `domain::delivery::schedule`.
//!
//! One attempt: [`mod@request`] puts head, signatures and body together, [`connect`] makes a connection to an address that
//! [`resolve`] found and vetted, [`connection`] remembers how it was made, [`answer`] keeps some of what
//! came back, and [`trouble`] says why nothing did.
//!
//! Guaranteed: every match is sent at least once or ends in a state that says why not, and every
//! attempt is on record before the delivery is settled. Not guaranteed: exactly one send. If this
//! process dies between a send and its record, the delivery is sent again; the receiver tells them
//! apart by `X-Service-Delivery-Id`.

pub mod address;
mod again;
mod answer;
pub mod balance;
pub mod cancel;
mod connect;
mod connection;
pub mod endpoints;
mod explain;
pub mod failure;
pub mod head;
pub mod list;
pub mod notice;
pub mod notice_mail;
pub mod rebuild;
pub mod reconcile;
pub mod record;
pub mod recover;
mod request;
pub mod resend;
mod resolve;
pub mod secrets;
pub mod send;
pub mod show;
pub mod signing;
pub mod target;
mod trouble;
pub mod work;
