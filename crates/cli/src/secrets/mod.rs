//! `watchbell secrets`: the secrets that sign an organization's webhooks, as a person manages them.

mod change;
mod list;
mod reveal;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Secrets {
    /// List signing secrets, newest first, without the secrets themselves.
    List(list::List),
    /// Print the initial secret, which signs until you promote one of your own.
    Initial(reveal::Reveal),
    /// Create a secret and print it: this is the only time it is shown. It signs nothing alone until you promote it.
    Stage(reveal::Reveal),
    /// Promote the staged secret: from now on it signs, and the one before it signs alongside for a while.
    Promote(change::Promote),
    /// Drop a secret: it signs nothing from now on.
    Drop(change::Drop),
}

impl Secrets {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(command) => command.run().await,
            Self::Initial(command) => command.initial().await,
            Self::Stage(command) => command.stage().await,
            Self::Promote(command) => command.run().await,
            Self::Drop(command) => command.run().await,
        }
    }
}
