//! `watchbell members list` and `invitations`.

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
        let call = self.server.as_person()?.get("/v1/members");
        let text = call.query(&self.page.parameters()).text().await?;
        page::show(
            &text,
            self.server.output,
            "members",
            ["email", "role", "since", "API keys", "id"],
            |member| {
                ["email", "role", "created_at", "api_keys", "id"].map(|field| cell(member, field))
            },
        )
    }
}

#[derive(Debug, Args)]
pub struct Invitations {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    server: Server,
}

impl Invitations {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let call = self.server.as_person()?.get("/v1/invitations");
        let text = call.query(&self.page.parameters()).text().await?;
        page::show(
            &text,
            self.server.output,
            "open invitations",
            ["email", "role", "expires at", "invited by", "id"],
            |invitation| {
                ["email", "role", "expires_at", "invited_by", "id"]
                    .map(|field| cell(invitation, field))
            },
        )
    }
}
