//! `watchbell deliveries`: find out what became of an alert, and send it again.

mod list;
mod recover;
mod resend;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Deliveries {
    /// List deliveries, newest event first.
    List(list::List),
    /// Show where a delivery stands, why, and every attempt.
    Show(show::Show),
    /// Send a delivery once more.
    Resend(resend::Resend),
    /// Send a rule's deliveries of a time once more: those that failed or are held, unless you name other states.
    Recover(recover::Recover),
}

impl Deliveries {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Resend(command) => command.run().await,
            Self::Recover(command) => command.run().await,
        }
    }
}
