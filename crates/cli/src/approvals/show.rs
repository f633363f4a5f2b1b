//! `watchbell approvals show`.

use std::process::ExitCode;

use clap::Args;
use domain::DecisionId;

use crate::{answer, decisions, server::Server};

#[derive(Debug, Args)]
pub struct Show {
    /// The decision.
    #[arg(value_name = "DECISION_ID")]
    id: DecisionId,
    #[command(flatten)]
    server: Server,
}

impl Show {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/runtime/approvals/{}", self.id);
        let text = self.server.as_person_or_key()?.get(&path).text().await?;
        answer::show(&text, self.server.output, decisions::print)
    }
}
