//! `watchbell keys`: the organization's API keys, as a person manages them.

mod create;
mod list;
mod revoke;
mod rotate;

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::Value;

use crate::{
    api::read,
    exit,
    output::{Form, note, say_once},
    page,
    table::cell,
};

#[derive(Debug, Subcommand)]
pub enum Keys {
    /// List API keys, newest first, including those that no longer work. The keys themselves are never shown again.
    List(page::List),
    /// Create an API key, and print it: this is the only time it is shown.
    Create(create::Create),
    /// Replace an API key by a new one; the old one keeps working for a while.
    Rotate(rotate::Rotate),
    /// Revoke an API key: every node refuses it within a second.
    Revoke(revoke::Revoke),
}

impl Keys {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(command) => list::run(&command).await,
            Self::Create(command) => command.run().await,
            Self::Rotate(command) => command.run().await,
            Self::Revoke(command) => command.run().await,
        }
    }
}

/// The key alone on standard output, where a script takes it; what is to know about it beside that.
fn print(text: &str, form: Form) -> anyhow::Result<ExitCode> {
    let made: Value = read(text)?;
    let (id, name) = (cell(&made, "id"), cell(&made, "name"));
    let lost = format!("The key is not shown again. Revoke it: watchbell keys revoke {id}");
    match form {
        Form::Json => say_once(text, lost)?,
        Form::Table => {
            say_once(cell(&made, "api_key"), lost)?;
            note(format_args!(
                "created {id} ({name}); the key is not shown again"
            ));
        }
    }
    Ok(exit::DONE)
}
