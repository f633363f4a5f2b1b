//! What was decided elsewhere, held in memory where deliveries need it: where rules go ([`targets`]), what signs
//! ([`secrets`]), what nobody wants any more ([`cancellations`]), which endpoints are in trouble ([`endpoints`]) and whose they
//! are ([`owners`]). All of each is held, because a delivery may be for any of them.

mod cancellations;
mod endpoints;
mod owners;
pub mod secrets;
mod targets;

pub use cancellations::Cancels;
pub use endpoints::{Endpoints, Learned};
pub use owners::Owners;
pub use secrets::Secrets;
pub use targets::{Target, Targets};
