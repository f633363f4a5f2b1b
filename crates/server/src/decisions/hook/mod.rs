//! Decisions for coding agents, which ask before a tool runs and tell when it ran.
//!
//! They tell what their hooks know of a [`call`]. Before the tool ([`before`]) it becomes a question, and the
//! answer says whether the tool may run; after it ([`after`]) it becomes an event of the trail. They are two
//! addresses because they count against two limits and need two scopes.
//!
//! Claude Code posts that itself. For the others, whose hooks are commands, `watchbell hook run` does ([`by_dialect`]), and
//! lets no tool run without an answer. What differs between agents is in [`dialects`] alone.
//!
//! Claude Code goes on if a hook answers with anything but 2xx, or not at all, unless its settings say `"onFailure": "block"`
//! and it is new enough to obey. So where it is not asked to go on ([`params`]), a refusal of ours is an answer that says
//! `deny` or `ask` ([`on_error`]).
//!
//! Where a policy asks for a person, the one at the terminal is asked, or one of those who may approve is waited for
//! ([`wait`]).
//!
//! What is asked about can be large, and policies and the record have bounds: [`policy::fit`] says what is cut, and why
//! a policy that looks at what was cut denies.

pub mod after;
pub mod answer;
pub mod before;
pub mod by_dialect;
pub mod call;
pub mod dialects;
pub mod on_error;
pub mod params;
pub mod wait;
