//! Deliveries as people see them; the crate `deliver` sends them.
//!
//! The [`log`] keeps and shows what happened; people have deliveries sent again or canceled ([`replay`]), see to
//! [`endpoints`] in trouble, and make and promote signing [`secrets`].

pub mod endpoints;
pub mod log;
pub mod replay;
pub mod secrets;
