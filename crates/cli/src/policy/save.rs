//! `watchbell policy save`: a file of policies becomes a version of the organization's.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::{Written, activate::activate};
use crate::{
    api::read,
    exit,
    output::{Form, say},
    server::Server,
    table::cell,
};

#[derive(Debug, Args)]
pub struct Save {
    #[command(flatten)]
    written: Written,
    /// A note on what the version is for.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Activate the version; every node uses it once this command has returned.
    #[arg(long)]
    activate: bool,
    #[command(flatten)]
    server: Server,
}

impl Save {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let body = json!({
            "policies": self.written.policies()?,
            "schema": self.written.schema()?,
            "tests": self.written.tests::<Value>()?,
            "note": self.note,
        });
        let api = self.server.api()?;
        let saved = api.post("/v1/policies/versions").json(&body).text().await?;
        let version = cell(&read(&saved)?, "version");
        let mut answer = saved;
        if self.activate {
            answer = activate(&api, &version, None).await?;
        }
        match (self.server.output, self.activate) {
            (Form::Json, _) => say(answer)?,
            (Form::Table, true) => say(format_args!("version {version} saved and activated"))?,
            (Form::Table, false) => say(format_args!(
                "version {version} saved; activate it: watchbell policy activate {version}"
            ))?,
        }
        Ok(exit::DONE)
    }
}
