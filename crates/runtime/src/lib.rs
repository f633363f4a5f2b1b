//! What work needs that goes on for as long as its process does, whatever it is about.
//!
//! - [`retry`]: what fails is tried again, slower each time, until the process stops.
//! - [`semaphores`]: whoever has to wait waits for itself alone.
//! - [`random`]: randomness from the operating system.
//! - [`metrics`]: how a crate names its metrics.
//! - [`error_chain`]: an error with its causes, on one line.

pub mod error_chain;
pub mod metrics;
pub mod random;
pub mod retry;
pub mod semaphores;
