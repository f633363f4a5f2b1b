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
    /// Show a delivery's state, the reason for it, and every attempt.
    #[command(alias = "get")]
    Show(show::Show),
    /// Resend a delivery.
    Resend(resend::Resend),
    /// Resend a rule's deliveries from a time range: those that failed or are held, unless you name other states.
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
