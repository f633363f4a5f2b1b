//! How a command ends, by codes that scripts can use: the same for every command, and documented from [`Code`] alone.
//!
//! What became of the printing never makes a command look better than it was: who answers by the exit code takes [`with`].

use std::{fmt::Write as _, process::ExitCode};

use reqwest::StatusCode;

use crate::output::{Unsaid, note};

/// Done as asked.
pub(crate) const DONE: ExitCode = ExitCode::SUCCESS;
/// The answer is no, or it failed for a reason that has no code of its own; what and why was said.
pub(crate) const FAILED: ExitCode = ExitCode::FAILURE;

/// What an exit code means. Scripts rely on the numbers: one is never given another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    Done = 0,
    Failed = 1,
    /// By clap, too.
    Usage = 2,
    Denied = 3,
    Escalated = 4,
    NotAllowed = 10,
    Unavailable = 11,
    Invalid = 12,
    NotFound = 13,
    Conflict = 14,
    RateLimited = 15,
}

impl Code {
    const ALL: [Self; 11] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Denied,
        Self::Escalated,
        Self::NotAllowed,
        Self::Unavailable,
        Self::Invalid,
        Self::NotFound,
        Self::Conflict,
        Self::RateLimited,
    ];

    fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done, or the answer is yes; `decide`: allow or modify",
            Self::Failed => {
                "the answer is no (`rules test`, `policy test`, `verify`, `trail verify`, `doctor`, `hook doctor`, `healthcheck`), or something else failed, such as writing a file"
            }
            Self::Usage => {
                "wrong usage: a command, an option or an argument; `trail verify`: the file cannot be checked; `hook run`: there is no decision, so the call is blocked"
            }
            Self::Denied => "`decide`: deny",
            Self::Escalated => "`decide`: escalate",
            Self::NotAllowed => {
                "there is no API key or signing secret, or the key is unknown or may not do this (401, 403)"
            }
            Self::Unavailable => {
                "the server cannot be reached, or it failed (408, 5xx); try again later"
            }
            Self::Invalid => {
                "what you sent is not valid: a file cannot be read, or the server refused it (other 4xx); `events send`: some events were rejected"
            }
            Self::NotFound => "it does not exist, or no longer (404, 410)",
            Self::Conflict => {
                "not possible in its current state, or it was changed in the meantime (409, 412)"
            }
            Self::RateLimited => "too many requests; try again later (429)",
        }
    }

    /// In a word or two.
    fn in_short(self) -> &'static str {
        match self {
            Self::Done => "done or yes",
            Self::Failed => "no or failed",
            Self::Usage => "wrong usage",
            Self::Denied => "denied",
            Self::Escalated => "escalated",
            Self::NotAllowed => "not allowed",
            Self::Unavailable => "server unavailable",
            Self::Invalid => "not valid",
            Self::NotFound => "not found",
            Self::Conflict => "conflict",
            Self::RateLimited => "too many requests",
        }
    }

    /// Of a request that was answered with this status, which is no success.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            401 | 403 => Self::NotAllowed,
            404 | 410 => Self::NotFound,
            409 | 412 => Self::Conflict,
            429 => Self::RateLimited,
            408 | 500.. => Self::Unavailable,
            400..500 => Self::Invalid,
            _ => Self::Failed,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// The codes as a table of Markdown.
pub(crate) fn table() -> String {
    let mut table = "| exit code | what |\n|---|---|\n".to_owned();
    for code in Code::ALL {
        let row = writeln!(table, "| {} | {} |", code as u8, code.meaning());
        row.expect("a text takes what is written to it");
    }
    table
}

/// The codes on one line.
pub(crate) fn in_short() -> String {
    let codes = Code::ALL.map(|code| format!("{} {}", code as u8, code.in_short()));
    format!("Exit codes: {}.", codes.join(", "))
}

/// A failure of this side, with the code that it ends by; as an error, or as the context of one.
#[derive(Debug, thiserror::Error)]
#[error("{said}")]
pub(crate) struct Failure {
    pub(crate) code: Code,
    said: String,
}

/// An argument that clap could not judge.
pub(crate) fn usage(said: impl Into<String>) -> Failure {
    Failure {
        code: Code::Usage,
        said: said.into(),
    }
}

/// No key or secret.
pub(crate) fn not_allowed(said: impl Into<String>) -> Failure {
    Failure {
        code: Code::NotAllowed,
        said: said.into(),
    }
}

/// What was given to read.
pub(crate) fn invalid(said: impl Into<String>) -> Failure {
    Failure {
        code: Code::Invalid,
        said: said.into(),
    }
}

/// `decide`: the agent must not.
pub(crate) fn denied() -> ExitCode {
    Code::Denied.into()
}

/// `decide`: a person is asked.
pub(crate) fn escalated() -> ExitCode {
    Code::Escalated.into()
}

/// `hook run`: the code by which every agent blocks a call.
pub(crate) fn blocked() -> ExitCode {
    Code::Usage.into()
}

/// `events send`: not every event was accepted.
pub(crate) fn rejected() -> ExitCode {
    Code::Invalid.into()
}

/// Yes, or no.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_code() {
        let code = |status| Code::of_status(StatusCode::from_u16(status).expect("a status"));
        for (status, expected) in [
            (302, Code::Failed),
            (400, Code::Invalid),
            (401, Code::NotAllowed),
            (403, Code::NotAllowed),
            (404, Code::NotFound),
            (408, Code::Unavailable),
            (409, Code::Conflict),
            (410, Code::NotFound),
            (412, Code::Conflict),
            (413, Code::Invalid),
            (422, Code::Invalid),
            (429, Code::RateLimited),
            (500, Code::Unavailable),
            (503, Code::Unavailable),
        ] {
            assert_eq!(code(status), expected, "{status}");
        }
    }
}
