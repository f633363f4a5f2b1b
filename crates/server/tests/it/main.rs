//! Watchbell through the doors its users use: HTTP in, webhook out, on real engines.
//!
//! [`deployment`] starts the real binary in any set of roles; each other file is one chapter of what
//! must be true.

mod commands;
mod deployment;
mod dev;
mod errors;
mod guard;
mod lifecycle;
mod line;
mod retries;
mod spec;
mod telemetry;
