//! What agents may do: policy sets, questions and verdicts. Pure, and the only user of Cedar.
//!
//! A *question* ([`Question`]) is put into Cedar's terms once ([`CedarRequest`]) and answered by a *set*
//! ([`PolicySet`]), which gives a *verdict* with its reasons ([`Decided`]). What we add to Cedar: four
//! verdicts instead of two, an error that denies, and an index, so that a question meets the policies
//! that can apply to it and not all of them (`slice.rs`). A decision that is on record ([`recorded`]) can be made again.

mod annotations;
mod cedar_request;
pub mod check;
mod command;
mod cost;
mod decide;
pub mod diff;
pub mod digest;
mod evaluate;
pub mod fit;
pub mod flips;
pub mod obligation;
pub mod payload;
pub mod question;
pub mod recorded;
mod server_context;
pub mod set;
pub mod show;
mod slice;
pub mod starter;
pub mod templates;
pub mod test;
mod text_limits;
mod unrecorded_inputs;
mod value;
pub mod verdict;
mod visible_fields;
mod vocabulary;

pub use cedar_request::CedarRequest;
pub use cost::COST_MAX;
pub use question::{Party, Question};
pub use set::{ENGINE, PolicySet};
pub use unrecorded_inputs::Looks;
pub use verdict::{Decided, Determining, Effect, Failed, Verdict};
