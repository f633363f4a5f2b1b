//! What agents may do: policy sets, questions and verdicts. Pure, and the only user of Cedar.
//!
//! A *question* ([`Question`]) is put into Cedar's terms once ([`Asked`]) and answered by a *set*
//! ([`PolicySet`]), which gives a *verdict* with its reasons ([`Decided`]). What we add to Cedar: four
//! verdicts instead of two, an error that denies, and an index, so that a question meets the policies
//! that can apply to it and not all of them (`slice.rs`).

mod annotations;
mod asked;
mod beside;
mod bounds;
pub mod check;
mod command;
mod cost;
mod decide;
mod declared;
pub mod diff;
pub mod digest;
pub mod fit;
pub mod flips;
mod looks;
pub mod obligation;
pub mod payload;
pub mod question;
pub mod set;
mod slice;
pub mod starter;
pub mod templates;
pub mod test;
mod value;
pub mod verdict;
mod vocabulary;

pub use asked::Asked;
pub use cost::COST_MAX;
pub use looks::Looks;
pub use question::{Party, Question};
pub use set::{ENGINE, PolicySet};
pub use verdict::{Decided, Determining, Effect, Failed, Verdict};
