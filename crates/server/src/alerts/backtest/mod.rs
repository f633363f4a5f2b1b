//! Backtests: what a rule would have done, told while it is found out.
//!
//! A backtest is asked for ([`request`]) for a rule that is saved or one that is not. [`run`] reads the trail as
//! exports do, day by day and oldest day first, puts the rule before each event on a thread that may be
//! busy, and counts (`domain::rule::backtest`). [`progress`] sends how far it is, every second, and in the end
//! what came of it. It holds two pieces of the trail and a day's matches at most, however long the history,
//! and ends when the client goes away or may not have it any more.

pub mod progress;
pub mod request;
mod run;

use crate::edge::slots::Bounds;

/// For an organization, one that runs and one for somebody else. Each keeps a core busy, and another of
/// PostgreSQL's.
pub const BACKTESTS: Bounds = Bounds {
    per_org: 2,
    per_node: 4,
    what: "backtests",
    instead: "",
};
