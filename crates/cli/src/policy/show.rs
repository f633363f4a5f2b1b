//! `watchbell policy show`.

use std::process::ExitCode;

use clap::Args;

use crate::{answer, output::say, server::Server, table::plain_lines};

#[derive(Debug, Args)]
pub struct Show {
    /// The version.
    version: u32,
    #[command(flatten)]
    server: Server,
}

impl Show {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/policies/versions/{}", self.version);
        let text = self.server.api()?.get(&path).text().await?;
        answer::show(&text, self.server.output, |version| {
            let policies = version["policies"].as_str().unwrap_or_default();
            say(plain_lines(policies))
        })
    }
}
