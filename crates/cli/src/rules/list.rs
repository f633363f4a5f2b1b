//! `watchbell rules list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::{
    api::read,
    exit,
    output::{Form, note, say},
    server::Server,
    table::{Table, cell},
};

#[derive(Debug, Args)]
pub struct List {
    /// Only rules that are enabled (true), or only those that are not (false).
    #[arg(long)]
    enabled: Option<bool>,
    /// Only rules with this tag.
    #[arg(long)]
    tag: Option<String>,
    /// Maximum number of results.
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// Cursor from the previous page.
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    server: Server,
}

impl List {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let given = [
            ("enabled", self.enabled.map(|enabled| enabled.to_string())),
            ("tag", self.tag),
            ("limit", Some(self.limit.to_string())),
            ("cursor", self.cursor),
        ];
        let given = given
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let parameters: Vec<(&str, String)> = given.collect();
        let text = self
            .server
            .api()?
            .get("/v1/alert-rules")
            .query(&parameters)
            .text()
            .await?;
        if self.server.output == Form::Json {
            say(text)?;
            return Ok(exit::DONE);
        }
        let page: Value = read(&text)?;
        let mut table = Table::new(["id", "name", "state", "matched 24h", "alerts 24h", "url"]);
        for rule in page["data"].as_array().into_iter().flatten() {
            table.row([
                cell(rule, "id"),
                cell(rule, "name"),
                state(rule).to_owned(),
                cell(&rule["stats"], "matched_24h"),
                cell(&rule["stats"], "alerts_24h"),
                cell(rule, "url"),
            ]);
        }
        if table.is_empty() {
            note("No rules.");
        } else {
            table.print()?;
        }
        if let Some(cursor) = page["next_cursor"].as_str() {
            note(format_args!("There are more: --cursor {cursor}."));
        }
        Ok(exit::DONE)
    }
}

fn state(rule: &Value) -> &'static str {
    if rule["enabled"] == false {
        "disabled"
    } else if rule["shadow"] == true {
        "shadow"
    } else if !rule["snoozed_until"].is_null() {
        "snoozed"
    } else {
        "enabled"
    }
}
