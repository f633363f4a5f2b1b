//! `watchbell rules update`, `enable` and `disable`: a rule as it will be from now on.

use std::process::ExitCode;

use clap::Args;
use domain::RuleId;
use reqwest::Method;
use serde_json::{Value, json};

use super::{IfVersion, state};
use crate::{answer, input, output::say, server::Server, table::cell};

#[derive(Debug, Args)]
pub struct Update {
    /// The rule.
    #[arg(value_name = "RULE_ID")]
    id: RuleId,
    /// The fields to change; each replaces the whole field, and null resets it to its default.
    #[arg(value_name = "JSON|@FILE", value_parser = input::json_argument)]
    fields: Value,
    /// Replace the whole rule: fields that you leave out get their defaults.
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    expected: IfVersion,
    #[command(flatten)]
    server: Server,
}

impl Update {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let method = if self.replace {
            Method::PUT
        } else {
            Method::PATCH
        };
        change(&self.server, self.id, method, &self.fields, &self.expected).await
    }
}

#[derive(Debug, Args)]
pub struct Switch {
    /// The rule.
    #[arg(value_name = "RULE_ID")]
    id: RuleId,
    #[command(flatten)]
    expected: IfVersion,
    #[command(flatten)]
    server: Server,
}

impl Switch {
    pub(super) async fn enable(self) -> anyhow::Result<ExitCode> {
        self.run(&json!({"enabled": true})).await
    }

    pub(super) async fn disable(self) -> anyhow::Result<ExitCode> {
        self.run(&json!({"enabled": false})).await
    }

    async fn run(&self, fields: &Value) -> anyhow::Result<ExitCode> {
        change(&self.server, self.id, Method::PATCH, fields, &self.expected).await
    }
}

async fn change(
    server: &Server,
    id: RuleId,
    method: Method,
    fields: &Value,
    expected: &IfVersion,
) -> anyhow::Result<ExitCode> {
    let path = format!("/v1/alert-rules/{id}");
    let call = server.api()?.call(method, &path).json(fields);
    let text = expected.of(call).text().await?;
    answer::show(&text, server.output, |rule| {
        say(format_args!(
            "{id} ({}) is {}; version {}",
            cell(rule, "name"),
            state(rule),
            cell(rule, "version")
        ))
    })
}
