//! `watchbell policy save`: a file of policies becomes a version of the organisation's.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::Written;
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
    /// What the version is for.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Put it in force.
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
            let activate = format!("/v1/policies/versions/{version}/activate");
            answer = api.post(&activate).json(&json!({})).text().await?;
        }
        match (self.server.output, self.activate) {
            (Form::Json, _) => say(answer)?,
            (Form::Table, true) => say(format_args!("version {version} is saved and active"))?,
            (Form::Table, false) => say(format_args!(
                "version {version} is saved; put it in force with --activate"
            ))?,
        }
        Ok(exit::DONE)
    }
}
