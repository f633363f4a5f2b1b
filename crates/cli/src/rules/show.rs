//! `watchbell rules show`.

use std::process::ExitCode;

use clap::Args;
use domain::RuleId;
use serde_json::Value;

use super::state;
use crate::{
    answer,
    output::Unsaid,
    server::Server,
    table::{cell, print_pairs},
};

#[derive(Debug, Args)]
pub struct Show {
    /// The rule.
    #[arg(value_name = "RULE_ID")]
    id: RuleId,
    #[command(flatten)]
    server: Server,
}

impl Show {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/alert-rules/{}", self.id);
        let text = self.server.api()?.get(&path).text().await?;
        answer::show(&text, self.server.output, print)
    }
}

fn print(rule: &Value) -> Result<(), Unsaid> {
    let (of, stat) = (
        |field: &str| cell(rule, field),
        |field: &str| cell(&rule["stats"], field),
    );
    print_pairs(&[
        ("rule", of("id")),
        ("name", of("name")),
        ("state", state(rule).to_owned()),
        ("snoozed until", of("snoozed_until")),
        ("description", of("description")),
        ("match", of("match")),
        ("except", of("except")),
        ("threshold", of("threshold")),
        ("suppress", of("suppress")),
        ("url", of("url")),
        ("severity", of("severity")),
        ("tags", of("tags")),
        ("runbook", of("runbook_url")),
        ("version", of("version")),
        ("changed", of("updated_at")),
        ("changed by", of("updated_by")),
        ("matched 24h", stat("matched_24h")),
        ("alerts 24h", stat("alerts_24h")),
        ("last matched", stat("last_matched_at")),
    ])
}
