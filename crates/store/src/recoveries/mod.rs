//! Jobs that send a rule's deliveries of the past again: asked for and looked at by customers ([`list`]), worked
//! on by nodes ([`lease`]).

mod lease;
mod list;

pub use lease::{ClaimedRecovery, RecoveryPage};
pub use list::{NewRecovery, RecoveryRow};
