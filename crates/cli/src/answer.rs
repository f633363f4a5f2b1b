//! An answer of the API about one thing: passed on to programs as it is, printed for people.

use std::{fmt::Display, process::ExitCode};

use serde_json::Value;

use crate::{
    api::read,
    exit,
    output::{Form, say},
};

/// Passes an answer on, or has it printed.
pub(crate) fn show<E: Into<anyhow::Error>>(
    text: &str,
    form: Form,
    print: impl FnOnce(&Value) -> Result<(), E>,
) -> anyhow::Result<ExitCode> {
    match form {
        Form::Json => say(text)?,
        Form::Table => print(&read(text)?).map_err(Into::into)?,
    }
    Ok(exit::DONE)
}

/// Says what was done where the API answers nothing. A program has the exit code.
pub(crate) fn done(form: Form, line: impl Display) -> anyhow::Result<ExitCode> {
    if form == Form::Table {
        say(line)?;
    }
    Ok(exit::DONE)
}
