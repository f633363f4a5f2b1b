//! `watchbell endpoints pause`, `resume` and `verify`.

use std::process::ExitCode;

use clap::Args;
use domain::EndpointId;

use crate::{answer, output::say, server::Server, table::cell};

#[derive(Debug, Args)]
pub struct Change {
    /// The endpoint; `deliveries show` says which one a delivery goes to.
    #[arg(value_name = "ENDPOINT_ID")]
    id: EndpointId,
    #[command(flatten)]
    server: Server,
}

impl Change {
    pub(super) async fn pause(self) -> anyhow::Result<ExitCode> {
        self.switch("pause").await
    }

    pub(super) async fn resume(self) -> anyhow::Result<ExitCode> {
        self.switch("resume").await
    }

    pub(super) async fn verify(self) -> anyhow::Result<ExitCode> {
        let text = self.post("verify").await?;
        answer::show(&text, self.server.output, |endpoint| {
            say(format_args!(
                "sending the challenge to {}",
                cell(endpoint, "url")
            ))?;
            say(format_args!(
                "Check the result: watchbell endpoints show {}",
                self.id
            ))
        })
    }

    async fn switch(&self, change: &str) -> anyhow::Result<ExitCode> {
        let text = self.post(change).await?;
        answer::show(&text, self.server.output, |endpoint| {
            let (status, url) = (cell(endpoint, "status"), cell(endpoint, "url"));
            say(format_args!("{} is {status}: {url}", self.id))
        })
    }

    async fn post(&self, change: &str) -> anyhow::Result<String> {
        let path = format!("/v1/endpoints/{}/{change}", self.id);
        self.server.api()?.post(&path).text().await
    }
}
