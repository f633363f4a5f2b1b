//! `watchbell admin`: what an operator does by hand.

use anyhow::Context as _;
use clap::{Args, Subcommand};
use journal::Journal;

use super::{WithConfig, say};
use crate::{accounts::found::found, node, system_clock};

#[derive(Debug, Subcommand)]
pub(super) enum Admin {
    /// Make an organisation with its first user and an API key; prints them once, as JSON.
    CreateOrg(CreateOrg),
}

#[derive(Debug, Args)]
pub(super) struct CreateOrg {
    #[command(flatten)]
    with: WithConfig,
    /// The organisation's name.
    #[arg(long)]
    name: String,
    /// The first user's e-mail address.
    #[arg(long)]
    email: String,
}

impl Admin {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let Self::CreateOrg(CreateOrg { with, name, email }) = self;
        let config = with.load()?;
        let store = node::open_store(&config)?;
        let journal = Journal::connect(&node::journal_options(&config)?)
            .await
            .context("connect to the journal")?;
        journal.prepare().await.context("prepare the journal")?;
        let founded = found(&store, &journal, system_clock::SYSTEM, &name, &email).await?;
        say(serde_json::to_string(&founded)?);
        Ok(())
    }
}
