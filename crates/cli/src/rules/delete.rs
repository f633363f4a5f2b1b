//! `watchbell rules delete`.

use std::process::ExitCode;

use clap::Args;
use domain::RuleId;

use super::IfVersion;
use crate::{answer, server::Server};

#[derive(Debug, Args)]
pub struct Delete {
    /// The rule.
    #[arg(value_name = "RULE_ID")]
    id: RuleId,
    #[command(flatten)]
    expected: IfVersion,
    #[command(flatten)]
    server: Server,
}

impl Delete {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/alert-rules/{}", self.id);
        let call = self.server.api()?.delete(&path);
        self.expected.of(call).send().await?;
        answer::done(self.server.output, format_args!("deleted {}", self.id))
    }
}
