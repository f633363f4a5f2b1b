//! Rate limits: how many requests of one kind one caller may make in a rolling window.
//!
//! The rule, the whole of it: a request is admitted if and only if fewer than `count` admissions
//! happened in the last `window`, that is in `(now - window, now]`. A refused request is not
//! recorded, so it never lengthens anybody's wait. Nothing cheaper keeps that promise: a fixed
//! window, a sliding counter and GCRA all admit almost twice `count` in some rolling window.
//!
//! - [`Operation`]: what is limited, and the default [`Quota`] of each.
//! - [`Log`]: the rule itself, over the times of past admissions. `crates/limits` runs it in memory
//!   and has its twin as a script in Redis.
//! - [`fair_share`]: bytes and not requests: whose events a log still takes that is nearly full.

mod defaults;
pub mod fair_share;
mod operation;
mod quota;
mod sliding_log;

pub use operation::{Operation, WhenAlone};
pub use quota::{NotAQuota, Quota};
pub use sliding_log::{Log, Verdict, retry_after_s};
