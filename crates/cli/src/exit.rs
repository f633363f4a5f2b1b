//! How a command ends. Wrong usage is 2, by clap.
//!
//! What became of the printing never makes a command look better than it was: who answers by the exit code takes [`with`].

use std::process::ExitCode;

use crate::output::{Unsaid, note};

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

/// Done, or failed.
pub(crate) fn done_if(is_done: bool) -> ExitCode {
    if is_done { DONE } else { FAILED }
}

/// Ends with this code, which is an answer itself, whatever became of the words beside it. Only a success whose words are
/// lost is none.
pub(crate) fn with(code: ExitCode, said: Result<(), Unsaid>) -> anyhow::Result<ExitCode> {
    match said {
        Ok(()) | Err(Unsaid::Closed) => Ok(code),
        Err(error) if code == DONE => Err(error.into()),
        Err(error) => {
            note(format_args!("watchbell: {error}"));
            Ok(code)
        }
    }
}

/// Where the output is all there is to do, that nobody reads on is no failure.
pub(crate) fn unless_closed(outcome: anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    match outcome {
        Err(error) if matches!(error.downcast_ref(), Some(Unsaid::Closed)) => Ok(DONE),
        outcome => outcome,
    }
}
