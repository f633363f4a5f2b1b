//! What people and programs read: lines on standard output, remarks beside it, tables or JSON.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

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

/// Nobody reads the output any more, as in `watchbell events tail | head -1`. That is no failure.
#[derive(Debug, thiserror::Error)]
#[error("standard output was closed")]
pub(crate) struct Closed;

/// Writes a line for whoever reads the output.
pub(crate) fn say(line: impl Display) -> Result<(), Closed> {
    writeln!(io::stdout(), "{line}").map_err(|_| Closed)
}

/// Writes JSON of our own, where no answer of the API is passed on.
pub(crate) fn say_json(value: &impl Serialize) -> anyhow::Result<()> {
    say(serde_json::to_string(value)?)?;
    Ok(())
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
