//! How this deployment is, for those who run it (`accounts.operators`): `GET /v1/system`.
//!
//! [`show`] gathers it: whether the [`dependencies`] answer, how far the [`logs`] are applied and what was put aside,
//! and the [`days`] of the trail. Nobody waits long for what does not answer. People's sessions are in PostgreSQL, so
//! while it is down nobody is told anything here (503); then `/healthz/ready` and `watchbell doctor` are who to ask.

pub mod days;
mod dependencies;
mod logs;
pub mod show;

use std::time::Duration;

/// What has not answered by then is told as down, or not told.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
