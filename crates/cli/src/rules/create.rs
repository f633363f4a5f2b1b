//! `watchbell rules create`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;

use crate::{answer, input, output::say, server::Server, table::cell};

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
        answer::show(&made, self.server.output, |made| {
            say(format_args!(
                "created {} ({}); alerts go to {}",
                cell(made, "id"),
                cell(made, "name"),
                cell(made, "url")
            ))
        })
    }
}
