//! `watchbell members`: who belongs to the organization, and who is invited to.

mod change;
mod invite;
mod list;

use std::process::ExitCode;

use clap::{Subcommand, builder::PossibleValuesParser};
use domain::account::Role;

use crate::page;

#[derive(Debug, Subcommand)]
pub enum Members {
    /// List the members, newest first.
    List(page::List),
    /// Change a member's role. Only owners can add or remove owners.
    ChangeRole(change::ChangeRole),
    /// Remove a member, end their sessions and revoke the API keys they created.
    Remove(change::Remove),
    /// Invite someone by email, replacing any earlier invitation to them.
    Invite(invite::Invite),
    /// List open invitations, newest first.
    Invitations(page::List),
    /// Revoke an invitation.
    RevokeInvitation(invite::Revoke),
}

impl Members {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(command) => list::run(&command).await,
            Self::ChangeRole(command) => command.run().await,
            Self::Remove(command) => command.run().await,
            Self::Invite(command) => command.run().await,
            Self::Invitations(command) => list::invitations(&command).await,
            Self::RevokeInvitation(command) => command.run().await,
        }
    }
}

/// For clap.
fn roles() -> PossibleValuesParser {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str))
}
