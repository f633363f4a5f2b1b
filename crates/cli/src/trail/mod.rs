//! `watchbell trail`: the trail as an auditor has it, without a server.

mod replay;
mod verify;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Trail {
    /// Check offline that an export of format `bundle` is complete, unchanged and in order. Exits 0 if that is proven, 1 if not,
    /// 2 if it cannot be checked.
    Verify(verify::Verify),
}

impl Trail {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Verify(command) => command.run(),
        }
    }
}
