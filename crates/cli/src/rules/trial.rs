//! `watchbell rules test`: does this rule want this event, and which of its conditions decide that.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use domain::EventId;
use serde_json::{Map, Value};

use super::Rule;
use crate::{
    api::read,
    exit, input,
    output::{Form, Unsaid, say},
    server::Server,
    table::{Table, cell, plain},
};

#[derive(Debug, Args)]
pub struct Trial {
    /// A file that contains a rule, or the id of a saved one.
    #[arg(value_name = "RULE.json|RULE_ID", value_parser = Rule::argument)]
    rule: Rule,
    /// A file that contains an event, or the id of a stored one.
    #[arg(long, value_name = "EVENT.json|EVENT_ID")]
    event: String,
    #[command(flatten)]
    server: Server,
}

impl Trial {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let event = match self.event.parse::<EventId>() {
            Ok(id) => ("event_id", Value::from(id.to_string())),
            Err(_) => ("event", input::json(&PathBuf::from(self.event))?),
        };
        let fields = [self.rule.field()?, event];
        let body: Map<String, Value> = fields
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect();
        let text = self
            .server
            .api()?
            .post("/v1/alert-rules/test")
            .json(&body)
            .text()
            .await?;
        let result: Value = read(&text)?;
        let said = match self.server.output {
            Form::Json => say(&text),
            Form::Table => print(&result),
        };
        exit::with(exit::done_if(result["matches"] == true), said)
    }
}

fn print(result: &Value) -> Result<(), Unsaid> {
    say(if result["matches"] == true {
        "matches"
    } else {
        "does not match"
    })?;
    let mut table = Table::new(["met", "path", "condition", "wanted", "seen"]);
    let exceptions = result["except"].as_array().into_iter().flatten();
    let parts = [("", result)]
        .into_iter()
        .chain(exceptions.map(|exception| ("except ", exception)));
    for (which, part) in parts {
        for leaf in part["leaves"].as_array().into_iter().flatten() {
            let passed = if leaf["pass"] == true { "yes" } else { "no" };
            table.row([
                format!("{which}{passed}"),
                cell(leaf, "path"),
                cell(leaf, "op"),
                cell(leaf, "wanted"),
                if leaf["seen"].is_null() {
                    "nothing".to_owned()
                } else {
                    cell(leaf, "seen")
                },
            ]);
        }
    }
    if !table.is_empty() {
        table.print()?;
    }
    for sentence in result["then"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        say(plain(sentence))?;
    }
    Ok(())
}
