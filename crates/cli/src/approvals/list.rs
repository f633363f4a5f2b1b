//! `watchbell approvals list`.

use std::process::ExitCode;

use clap::Args;

use crate::{
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
        let fields = [
            "expires_at",
            "agent_id",
            "action",
            "resource",
            "reason",
            "decision_id",
        ];
        page::show(
            &text,
            self.server.output,
            "pending approvals",
            ["waits until", "agent", "action", "resource", "reason", "id"],
            |approval| fields.map(|field| cell(approval, field)),
        )
    }
}
