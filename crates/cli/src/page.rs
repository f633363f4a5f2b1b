//! A page of a list: how much of it is asked for, and how it is shown.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::{
    api::{Call, read},
    exit,
    output::{Form, note, say},
    server::Server,
    table::Table,
};

#[derive(Debug, Args)]
pub(crate) struct Page {
    /// Maximum number of results.
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// Cursor from the previous page.
    #[arg(long)]
    cursor: Option<String>,
}

impl Page {
    /// As parameters of an address.
    pub(crate) fn parameters(&self) -> Vec<(&'static str, String)> {
        given([
            ("limit", Some(self.limit.to_string())),
            ("cursor", self.cursor.clone()),
        ])
    }
}

/// A list that is asked for by its page alone.
#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    pub(crate) server: Server,
}

impl List {
    /// Makes the call for this page, and shows what was answered.
    pub(crate) async fn show<const N: usize>(
        &self,
        call: Call,
        things: &str,
        columns: [&str; N],
        row: impl Fn(&Value) -> [String; N],
    ) -> anyhow::Result<ExitCode> {
        let text = call.query(&self.page.parameters()).text().await?;
        show(&text, self.server.output, things, columns, row)
    }
}

/// The parameters that have a value.
pub(crate) fn given<const N: usize>(
    parameters: [(&'static str, Option<String>); N],
) -> Vec<(&'static str, String)> {
    parameters
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// Shows a page of these things: as it was answered, or a row for each.
pub(crate) fn show<const N: usize>(
    text: &str,
    form: Form,
    things: &str,
    columns: [&str; N],
    row: impl Fn(&Value) -> [String; N],
) -> anyhow::Result<ExitCode> {
    if form == Form::Json {
        say(text)?;
        return Ok(exit::DONE);
    }
    let page: Value = read(text)?;
    let mut table = Table::new(columns);
    for thing in page["data"].as_array().into_iter().flatten() {
        table.row(row(thing));
    }
    if table.is_empty() {
        note(format_args!("No {things}."));
    } else {
        table.print()?;
    }
    if page["fresh"] == false {
        note(format_args!(
            "watchbell: some of the newest {things} are not listed yet; try again in a moment"
        ));
    }
    if let Some(cursor) = page["next_cursor"].as_str() {
        note(format_args!("There may be more: --cursor {cursor}."));
    }
    Ok(exit::DONE)
}
