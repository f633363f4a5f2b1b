//! What happened, step by step.

use std::fmt;

use domain::Timestamp;

/// How many of the last steps are told when something is wrong.
const TOLD: usize = 30;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) at: Timestamp,
    /// The matcher that it happened to; none if it was somebody else.
    pub(super) who: Option<usize>,
    pub(super) what: &'static str,
    /// Of what, or how much.
    pub(super) detail: &'static str,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trace(pub(super) Vec<Step>);

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let skipped = self.0.len().saturating_sub(TOLD);
        for (number, step) in self.0.iter().enumerate().skip(skipped) {
            let Step {
                at,
                who,
                what,
                detail,
            } = step;
            let who = who.map_or_else(|| "-".to_owned(), |who| format!("matcher {who}"));
            writeln!(f, "{number:>5} {at} {who:<10} {what} {detail}")?;
        }
        Ok(())
    }
}
