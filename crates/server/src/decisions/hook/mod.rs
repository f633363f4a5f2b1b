//! Decisions for Claude Code and the Agent SDK, which ask before a tool runs and tell when it ran.
//!
//! They post what their hooks know of a [`call`]. Before the tool ([`before`]) it becomes a question, and the
//! answer says whether the tool may run; after it ([`after`]) it becomes an event of the trail. They are two
//! addresses because they count against two limits and need two scopes.
//!
//! Claude Code goes on if a hook answers with anything but 2xx, or not at all. So where it is asked to
//! ([`params`]), a refusal of ours is an answer that says `deny` or `ask` ([`on_error`]). What we cannot help is
//! a node that cannot be reached: the guard is as good as the connection to it.
//!
//! Where a policy asks for a person, the one at the terminal is asked, or one of those who may approve is waited for
//! ([`wait`]).
//!
//! What is asked about can be large, and policies and the record have bounds: [`policy::fit`] says what is cut, and why
//! a policy that looks at what was cut denies.

pub mod after;
pub mod answer;
pub mod before;
pub mod call;
pub mod on_error;
pub mod params;
pub mod wait;
