//! Watchbell through the doors its users use: HTTP in, webhook out, on real engines.
//!
//! [`deployment`] starts the real binary in any set of roles; each other file is one chapter of what
//! must be true.

mod access;
mod cluster;
mod commands;
mod crashes;
mod deployment;
mod dev;
mod errors;
mod fresh;
mod guard;
mod lifecycle;
mod line;
mod load;
mod mass;
mod openapi;
mod outages;
mod retries;
mod rules;
mod spec;
mod telemetry;
mod trail;
mod wire;
