//! `watchbell rules delete`.

use std::process::ExitCode;

use clap::Args;
use domain::RuleId;

use super::IfVersion;
use crate::{
    exit,
    output::{Form, say},
    server::Server,
};

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
        // The API has nothing to say about it.
        if self.server.output == Form::Table {
            say(format_args!("deleted {}", self.id))?;
        }
        Ok(exit::DONE)
    }
}
