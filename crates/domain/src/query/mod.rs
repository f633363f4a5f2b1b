//! One query for events, decisions and deliveries: the text that people write in the API, the command
//! line and the console.
//!
//! `result:(denied,error) agent_id:billing-* -severity:low metadata.amount:>500 "card declined"`: all
//! terms must hold, the values of one are alternatives, a `-` in front leaves out what matches, and what
//! has no field is text that the event contains. A field that is missing passes no term, so it passes
//! every term with a `-`. Of a list in `metadata`, one element is enough.
//!
//! [`parser`] reads a text with the help of [`lexer`] and [`value`], or says at which characters it is
//! wrong and what to write instead; [`fields`] lists what can be asked for; [`completion`] offers how a
//! text could go on. A query that was read is printed in one way only, which reads back as the same
//! query. [`matcher`] judges events by it in memory; [`fold`] says what it can of it by the fields of a
//! filter, and [`rule_patterns`] makes the patterns of an alert rule.
//! docs/adr/0030-one-query.md has the grammar, and why it is this small.

pub mod ast;
pub mod completion;
pub mod error;
mod event_query;
pub mod fields;
pub(crate) mod fold;
mod lexer;
pub mod matcher;
pub mod moment;
mod parser;
mod print;
pub mod rule_patterns;
#[cfg(test)]
mod tests;
mod value;

pub use ast::{Condition, Path, Query, Range, Term, Test, Value, Wildcard};
pub use completion::complete;
pub use error::{Error, Span};
pub use event_query::EventQuery;
pub use fields::{Field, Kind, List};
pub use matcher::Matcher;
pub use moment::Moment;
pub use parser::parse;

// Bounds, so that a page costs no more than with the filters that it replaces. What is beyond is
// refused, with the place and the number.

/// The longest query. It travels in a URL, where a byte may take three, and common proxies take 8 KiB.
pub const TEXT_BYTES_MAX: usize = 2 * 1024;
/// Terms of a query: as many as a rule has fields.
pub const TERMS_MAX: usize = 16;
/// Values of one term: as many as a parameter of the list has, and for the same reason.
pub const VALUES_MAX: usize = crate::event::filter::VALUES_MAX;
/// The most that a query may cost each event that is looked at: 4 texts, or 64 values in `metadata`. A
/// rule's 2,048 take 0.3 ms on the worst event; so the 20,000 events of a page take 1.5 s at their worst.
pub const COST_MAX: usize = 512;
