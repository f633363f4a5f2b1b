//! Approvals: a decision that was escalated waits for a person.
//!
//! The truth is a value in the journal (`domain/approval.rs`, `journal/approvals.rs`) that is changed by comparing
//! and setting it, and what is pending is held by every node (`snapshots/approvals.rs`); so agents go on asking,
//! waiting and acting, and people with a key go on resolving, while PostgreSQL is down.
//!
//! It begins in `decisions/escalate.rs`, which asks for room, records the decision and puts it to people, and which
//! spends what they approved. Here is what happens in between:
//!
//! - [`show`]: a decision and what became of it; an agent may wait there for the end.
//! - [`history`]: the same from the trail, of one that was never escalated or whose approval is not kept any more.
//! - [`queue`]: what is pending, for people.
//! - [`stream`]: the same as it happens, for people and for the agent that asked.
//! - [`resolve`]: a person's word.
//! - [`audit_events`]: the trail is told how each ended, so that alert rules can tell others; and whose time is over is
//!   noticed.
//! - [`query`] and [`body`]: what is asked and answered over HTTP.
//!
//! It ends once: by whoever resolves it first, or when its time is over. A time-out needs nobody: who asks after it
//! is told `deny`. That it is noted, too, makes it final for nodes whose clock is slow, before the trail is told.
//! The approval is good for the very request it was asked for, by the policies that asked, once, for a while:
//! `domain/approval.rs`. The key that asked is noted, does not approve it, and has a tenth of the places. How many may
//! wait, and be waited for, is bounded: [`WAITS`], [`STREAMS`], `snapshots/approvals.rs`.

pub mod audit_events;
pub mod body;
pub mod history;
pub mod query;
pub mod queue;
pub mod resolve;
pub mod show;
pub mod stream;

use crate::edge::slots::Bounds;

/// How many requests may wait for the end of a decision: as many as may be pending, and half of a node's
/// connections at most.
pub const WAITS: Bounds = Bounds {
    per_org: 1_000,
    per_node: 5_000,
    what: "waiting requests",
    instead: ", or ask without `wait`",
};

/// How many streams may be open; each costs a look at every approval that is opened or ends.
pub const STREAMS: Bounds = Bounds {
    per_org: 100,
    per_node: 1_000,
    what: "approval streams",
    instead: ", or request the list or the decision instead",
};
