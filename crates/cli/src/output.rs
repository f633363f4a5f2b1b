//! What people and programs read: lines on standard output, remarks beside it, tables or JSON.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

use anyhow::anyhow;
use clap::ValueEnum;
use serde::Serialize;

/// In which form a command answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    #[default]
    Table,
    // The API's JSON unchanged; one line for each thing where there is no end to them.
    Json,
}

/// Why the output is not where it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsaid {
    /// Nobody reads it any more, as in `watchbell events tail | head -1`.
    #[error("standard output was closed")]
    Closed,
    #[error("cannot write to standard output: {0}")]
    Failed(io::Error),
}

impl From<io::Error> for Unsaid {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Failed(error),
        }
    }
}

/// Writes a line for whoever reads the output.
pub(crate) fn say(line: impl Display) -> Result<(), Unsaid> {
    Ok(writeln!(io::stdout(), "{line}")?)
}

/// Writes what is shown only once. That nobody reads it is a failure here, and `lost` says what to do about it.
pub(crate) fn say_once(line: impl Display, lost: impl Display) -> anyhow::Result<()> {
    // Not as its source: a closed output is forgiven elsewhere.
    say(line).map_err(|error| anyhow!("{error}\n  What to do: {lost}"))
}

/// Writes what was answered as it is, at once: more may be long in coming.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Unsaid> {
    let mut output = io::stdout();
    output.write_all(bytes)?;
    Ok(output.flush()?)
}

/// Writes JSON of our own, where no answer of the API is passed on.
pub(crate) fn say_json(value: &impl Serialize) -> Result<(), Unsaid> {
    say(serde_json::to_string(value).map_err(io::Error::from)?)
}

/// Writes a remark for the person at the terminal, beside the output.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// JSON on one line, whatever line ends it has between its tokens; its texts cannot have any.
pub(crate) fn one_line(json: &str) -> String {
    json.replace(['\r', '\n'], " ")
}

/// `1 event`, `2 events`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("{count} {noun}")
    } else if let Some(stem) = noun.strip_suffix('y') {
        format!("{count} {stem}ies")
    } else {
        format!("{count} {noun}s")
    }
}
