//! `watchbell decisions`: what agents asked, and what they were answered. `watchbell decide` asks.

pub(crate) mod facts;
mod list;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

pub(crate) use self::show::print;

#[derive(Debug, Subcommand)]
pub enum Decisions {
    /// List decisions, newest first. They are read from the trail, so the key needs the scope `events:read`.
    List(list::List),
    /// Show a decision: the question, the answer, and the approval if there is one.
    #[command(alias = "get")]
    Show(show::Show),
}

impl Decisions {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
        }
    }
}
