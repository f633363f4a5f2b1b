//! `watchbell approvals`: what waits for a person, and a person's answer.

mod list;
mod resolve;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use crate::page;

#[derive(Debug, Subcommand)]
pub enum Approvals {
    /// List the decisions that wait for approval, oldest first.
    List(page::List),
    /// Show what is waiting for approval, with its context and payload.
    #[command(alias = "get")]
    Show(show::Show),
    /// Approve it: the agent may do it once. The key that asked cannot approve its own request.
    Approve(resolve::Resolve),
    /// Deny it.
    Deny(resolve::Resolve),
}

impl Approvals {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(command) => list::run(&command).await,
            Self::Show(command) => command.run().await,
            Self::Approve(command) => command.approve().await,
            Self::Deny(command) => command.deny().await,
        }
    }
}
