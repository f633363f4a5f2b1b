//! `watchbell approvals list`.

use std::process::ExitCode;

use clap::Args;

use crate::{
    decisions::facts,
    page::{self, Page},
    server::Server,
    table::cell,
};

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    server: Server,
}

impl List {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let call = self.server.as_person_or_key()?.get("/v1/runtime/approvals");
        let text = call.query(&self.page.parameters()).text().await?;
        page::show(
            &text,
            self.server.output,
            "pending approvals",
            [
                "waits until",
                "agent",
                "action",
                "resource",
                "facts",
                "reason",
                "id",
            ],
            |approval| {
                [
                    cell(approval, "expires_at"),
                    cell(approval, "agent_id"),
                    cell(approval, "action"),
                    cell(approval, "resource"),
                    facts::in_short(approval),
                    cell(approval, "reason"),
                    cell(approval, "decision_id"),
                ]
            },
        )
    }
}
