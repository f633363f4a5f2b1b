//! Watchbell through the doors its users use: HTTP in, webhook out, on real engines.
//!
//! [`deployment`] starts the real binary in any set of roles; each other file is one chapter of what
//! must be true.

mod access;
mod accounts;
mod api_keys;
mod archive;
mod cluster;
mod commands;
mod coverage;
mod crashes;
mod dead_letters;
mod deployment;
mod dev;
mod editing;
mod errors;
mod export_jobs;
mod exports;
mod fresh;
mod guard;
mod hostile;
mod hot_reload;
mod ingest;
mod invitations;
mod lifecycle;
mod limits;
mod line;
mod load;
mod logs;
mod mails;
mod mass;
mod members;
mod openapi;
mod outages;
mod password_resets;
mod people;
mod reads;
mod repeats;
mod restarts;
mod retention;
mod retries;
mod rules;
mod rules_bounds;
mod rules_life;
mod rules_repeats;
mod sessions;
mod slow;
mod spec;
mod tail;
mod telemetry;
mod timing;
mod trail;
mod wire;
mod writers;
