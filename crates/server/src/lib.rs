//! The server: one binary that plays any set of roles over the journal and the store.
//!
//! [`routes`] has every route on one page; [`planes`] says what a handler may touch; [`roles`] says
//! what runs where. Folders are the nouns of the product. ARCHITECTURE.md walks one event through.

pub mod accounts;
pub mod alerts;
mod apply;
mod chance;
pub mod commands;
pub mod config;
pub mod deliveries;
pub mod edge;
pub mod events;
mod fresh;
pub mod health;
pub mod lifecycle;
mod listener;
pub mod node;
pub mod openapi;
pub mod planes;
mod retry;
pub mod roles;
pub mod routes;
pub mod snapshots;
mod system_clock;
pub mod telemetry;
