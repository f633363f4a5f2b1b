//! `watchbell rules create`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;

use crate::{
    api::read,
    exit, input,
    output::{Form, say},
    server::Server,
    table::cell,
};

#[derive(Debug, Args)]
pub struct Create {
    /// The rule, as `POST /v1/alert-rules` accepts it.
    #[arg(value_name = "RULE.json")]
    rule: PathBuf,
    #[command(flatten)]
    server: Server,
}

impl Create {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let rule = input::json(&self.rule)?;
        let made = self.server.api()?.post("/v1/alert-rules").json(&rule);
        let made = made.text().await?;
        if self.server.output == Form::Json {
            say(made)?;
            return Ok(exit::DONE);
        }
        let made = read(&made)?;
        say(format_args!(
            "created {} ({}); alerts go to {}",
            cell(&made, "id"),
            cell(&made, "name"),
            cell(&made, "url")
        ))?;
        Ok(exit::DONE)
    }
}
