//! The states of deliveries and endpoints, all rules together.
//!
//! [`answers`] is the table of every status and every trouble. [`machine`] plays two workers that
//! send to one endpoint through the real rules, and holds every step against [`model`], which knows
//! the contract as sentences about the whole history and keeps no state of its own.

mod answers;
mod machine;
mod model;
mod story;
