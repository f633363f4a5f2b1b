//! `watchbell policy list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::{
    output::Form,
    page::{self, Page},
    server::Server,
    table::cell,
};

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    server: Server,
}

impl List {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let api = self.server.api()?;
        let call = api.get("/v1/policies/versions");
        let text = call.query(&self.page.parameters()).text().await?;
        let form = self.server.output;
        let current = match form {
            Form::Json => Value::Null,
            Form::Table => api.get("/v1/policies").value().await?,
        };
        page::show(
            &text,
            form,
            "versions",
            [
                "version",
                "state",
                "policies",
                "created at",
                "created by",
                "note",
            ],
            |version| {
                [
                    cell(version, "version"),
                    state(&version["version"], &current).to_owned(),
                    cell(version, "size"),
                    cell(version, "created_at"),
                    cell(version, "created_by"),
                    cell(version, "note"),
                ]
            },
        )
    }
}

/// What the version does now.
fn state(version: &Value, current: &Value) -> &'static str {
    if *version == current["active"]["version"] {
        "active"
    } else if *version == current["shadow"]["version"] {
        "shadow"
    } else if *version == current["previous_version"] {
        "previous"
    } else {
        ""
    }
}
