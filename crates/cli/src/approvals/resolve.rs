//! `watchbell approvals approve` and `deny`.

use std::process::ExitCode;

use clap::Args;
use domain::DecisionId;
use serde_json::{Value, json};

use crate::{answer, output::say, server::Server, table::cell};

#[derive(Debug, Args)]
pub struct Resolve {
    /// The decision.
    #[arg(value_name = "DECISION_ID")]
    id: DecisionId,
    /// Why; passed to the agent and recorded in the trail.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    server: Server,
}

impl Resolve {
    pub(super) async fn approve(self) -> anyhow::Result<ExitCode> {
        let body = json!({"approve": true, "note": self.note});
        self.run(&body).await
    }

    pub(super) async fn deny(self) -> anyhow::Result<ExitCode> {
        let body = json!({"approve": false, "note": self.note});
        self.run(&body).await
    }

    async fn run(&self, body: &Value) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/runtime/decisions/{}/resolve", self.id);
        let text = self
            .server
            .as_person_or_key()?
            .post(&path)
            .json(body)
            .text()
            .await?;
        answer::show(&text, self.server.output, |decision| {
            let words = ["agent_id", "action", "resource"].map(|field| cell(decision, field));
            say(format_args!(
                "{} {}: {}",
                cell(&decision["resolution"], "outcome"),
                self.id,
                words.join(" ").trim_end()
            ))
        })
    }
}
