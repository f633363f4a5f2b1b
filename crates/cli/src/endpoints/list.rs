//! `watchbell endpoints list`.

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
        let call = self.server.api()?.get("/v1/endpoints");
        let text = call.query(&self.page.parameters()).text().await?;
        page::show(
            &text,
            self.server.output,
            "endpoints with problems",
            ["id", "status", "failing since", "last error", "url"],
            |endpoint| {
                [
                    cell(endpoint, "id"),
                    cell(endpoint, "status"),
                    cell(&endpoint["failing"], "since"),
                    cell(endpoint, "last_error"),
                    cell(endpoint, "url"),
                ]
            },
        )
    }
}
