//! `watchbell endpoints`: see which endpoints have problems, and pause, resume and verify them.

mod change;
mod list;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use crate::page;

#[derive(Debug, Subcommand)]
pub enum Endpoints {
    /// List the endpoints that have or had problems.
    List(page::List),
    /// Show an endpoint's state, the reason for it, and what happened there.
    #[command(alias = "get")]
    Show(show::Show),
    /// Pause an endpoint: its deliveries are held until it is resumed. None is lost.
    Pause(change::Change),
    /// Resume an endpoint that is paused or disabled. What was held stays held; `deliveries recover` sends it.
    Resume(change::Change),
    /// Send an endpoint its challenge now, where the operator requires that endpoints are verified.
    Verify(change::Change),
}

impl Endpoints {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(command) => list::run(&command).await,
            Self::Show(command) => command.run().await,
            Self::Pause(command) => command.pause().await,
            Self::Resume(command) => command.resume().await,
            Self::Verify(command) => command.verify().await,
        }
    }
}
