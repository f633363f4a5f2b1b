//! How a command ends. Wrong usage is 2, by clap.

use std::process::ExitCode;

use crate::output::Closed;

/// Done as asked.
pub(crate) const DONE: ExitCode = ExitCode::SUCCESS;
/// Refused or failed; what and why was said.
pub(crate) const FAILED: ExitCode = ExitCode::FAILURE;

/// `decide`: the agent must not.
pub(crate) fn denied() -> ExitCode {
    ExitCode::from(3)
}

/// `decide`: a person is asked.
pub(crate) fn escalated() -> ExitCode {
    ExitCode::from(4)
}

/// That nobody reads on is how a command that goes on is ended.
pub(crate) fn unless_closed(outcome: anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    match outcome {
        Err(error) if error.is::<Closed>() => Ok(DONE),
        outcome => outcome,
    }
}
