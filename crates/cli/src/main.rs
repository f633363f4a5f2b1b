//! `watchbell-cli`: the client commands alone, for machines that only talk to a server.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use cli::{Command, policy::Policy};

/// The audit trail, the guard and the alarm bell for AI agents: client commands.
#[derive(Parser)]
#[command(name = "watchbell-cli", version, arg_required_else_help = true, after_help = cli::exit_codes())]
struct Cli {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    #[command(flatten)]
    Client(Box<Command>),
    /// Check, save and activate policies, and put them in shadow.
    #[command(subcommand)]
    Policy(Policy),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Commands::Client(command) => command.run(Cli::command).await,
        Commands::Policy(command) => command.run().await,
    };
    outcome.unwrap_or_else(|error| cli::failed("watchbell-cli", &error, &format!("{error:#}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
