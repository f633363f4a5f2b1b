//! `watchbell rules list`.

use std::process::ExitCode;

use clap::Args;

use super::state;
use crate::{
    page::{self, Page, given},
    server::Server,
    table::cell,
};

#[derive(Debug, Args)]
pub struct List {
    /// Only rules that are enabled (true), or only those that are not (false).
    #[arg(long)]
    enabled: Option<bool>,
    /// Only rules with this tag.
    #[arg(long)]
    tag: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    server: Server,
}

impl List {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let filter = given([
            ("enabled", self.enabled.map(|enabled| enabled.to_string())),
            ("tag", self.tag),
        ]);
        let call = self.server.api()?.get("/v1/alert-rules");
        let call = call.query(&filter).query(&self.page.parameters());
        let text = call.text().await?;
        page::show(
            &text,
            self.server.output,
            "rules",
            ["id", "name", "state", "matched 24h", "alerts 24h", "url"],
            |rule| {
                [
                    cell(rule, "id"),
                    cell(rule, "name"),
                    state(rule).to_owned(),
                    cell(&rule["stats"], "matched_24h"),
                    cell(&rule["stats"], "alerts_24h"),
                    cell(rule, "url"),
                ]
            },
        )
    }
}
