//! What agents may do: policy sets, questions and verdicts. Pure, and the only user of Cedar.

pub mod question;
pub mod set;
pub mod verdict;

pub use question::{Asked, Party, Question};
pub use set::PolicySet;
pub use verdict::{Decided, Verdict};
