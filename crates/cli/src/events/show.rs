//! `watchbell events show`.

use std::process::ExitCode;

use clap::Args;
use domain::EventId;
use serde_json::Value;

use crate::{
    answer,
    output::Unsaid,
    server::Server,
    table::{cell, print_pairs},
};

#[derive(Debug, Args)]
pub struct Show {
    /// The event.
    #[arg(value_name = "EVENT_ID")]
    id: EventId,
    #[command(flatten)]
    server: Server,
}

impl Show {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/audit/events/{}", self.id);
        let text = self.server.api()?.get(&path).text().await?;
        answer::show(&text, self.server.output, print)
    }
}

/// Every field that it has; the server takes none but its own, so their names are harmless.
fn print(event: &Value) -> Result<(), Unsaid> {
    let fields = event.as_object().into_iter().flatten();
    let pairs: Vec<(&str, String)> = fields
        .map(|(name, _)| (name.as_str(), cell(event, name)))
        .collect();
    print_pairs(&pairs)
}
