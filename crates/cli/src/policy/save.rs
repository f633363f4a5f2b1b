//! `watchbell policy save`: a file of policies becomes a version of the organization's.

use std::{process::ExitCode, time::Duration};

use clap::Args;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Written;
use crate::{
    api::read,
    exit,
    output::{Form, say},
    server::Server,
    table::cell,
};

/// By when every node answers by a version that was activated, as the API promises. That one does is seen only in
/// decisions, which are recorded, so nobody is asked; `GET /v1/policies` says what is decided, not what nodes have heard.
const IN_FORCE_WITHIN: Duration = Duration::from_secs(1);

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
            let activate = format!("/v1/policies/versions/{version}/activate");
            answer = api.post(&activate).json(&json!({})).text().await?;
            sleep(IN_FORCE_WITHIN).await;
        }
        match (self.server.output, self.activate) {
            (Form::Json, _) => say(answer)?,
            (Form::Table, true) => say(format_args!("version {version} saved and activated"))?,
            (Form::Table, false) => say(format_args!(
                "version {version} saved; activate it with --activate"
            ))?,
        }
        Ok(exit::DONE)
    }
}
