//! Jobs that send a rule's deliveries of the past again: asked for and looked at by customers ([`list`]), worked
//! on by nodes ([`work`]).

mod list;
mod work;

pub use list::{NewRecovery, RecoveryRow};
pub use work::{ClaimedRecovery, RecoveryPage};
