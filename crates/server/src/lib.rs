//! The server: one binary that plays any set of roles over the journal and the store.
//!
//! [`routes`] has every route on one page; [`planes`] says what a handler may touch; [`roles`] says
//! what runs where. Folders are the nouns of the product. ARCHITECTURE.md walks one event through.

mod about;
mod accounts;
mod alerts;
mod announce;
mod announce_again;
mod apply_log;
mod approvals;
mod change_outbox;
mod clock_watch;
pub mod commands;
mod config;
mod console;
mod cpu_limiter;
mod dead_letters;
mod decisions;
mod deliveries;
mod edge;
mod erasures;
mod events;
mod exports;
mod fresh_reads;
mod health;
mod jobs;
mod layers;
mod lifecycle;
mod listener;
mod mail;
mod node;
mod openapi;
mod overview;
mod planes;
mod policies;
mod queries;
mod redrive;
mod roles;
mod routes;
mod search_limiter;
mod service_manager;
mod snapshots;
mod system;
mod system_clock;
mod telemetry;
mod transparency;
mod views;
