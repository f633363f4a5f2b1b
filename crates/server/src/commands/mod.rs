//! The commands of the `watchbell` binary.

mod admin;
mod dead_letters;
mod dev;
mod doctor;
mod durability;
mod groups;
mod healthcheck;
mod migrate;
mod partitions;
mod policy;
mod reference;
mod serve;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::config::{self, Config};

/// The audit trail, the guard and the alarm bell for AI agents.
#[derive(Debug, Parser)]
#[command(name = "watchbell", version = env!("WATCHBELL_VERSION"), arg_required_else_help = true, after_help = cli::exit_codes())]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try Watchbell: everything in one process, with private engines and a receiver that shows webhooks.
    Dev(dev::Dev),
    /// Run the server.
    Serve(serve::Serve),
    /// Bring the database schema up to date.
    Migrate(WithConfig),
    /// Check the configuration and every dependency, and say how to fix what is wrong.
    Doctor(WithConfig),
    /// Ask a running server whether it is ready; exits 1 if not. For container health checks.
    Healthcheck(healthcheck::Healthcheck),
    /// Operator tasks.
    #[command(subcommand)]
    Admin(admin::Admin),
    /// List the daily partitions of events, deliveries and attempts.
    Partitions(partitions::Partitions),
    /// List records that could not be applied to the database, and apply them again.
    #[command(subcommand)]
    DeadLetters(dead_letters::DeadLetters),
    #[command(flatten)]
    Client(Box<cli::Command>),
    /// Check, save and activate policies, and put them in shadow; replay recorded decisions.
    #[command(subcommand, alias = "policies")]
    Policy(policy::Policy),
    /// Print generated reference pages.
    #[command(hide = true)]
    Reference(reference::Reference),
}

/// Where the settings come from.
#[derive(Clone, Debug, Default, Args)]
struct WithConfig {
    /// Configuration file (TOML); `WATCHBELL__SECTION__KEY` variables override it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl WithConfig {
    fn load(&self) -> anyhow::Result<Config> {
        config::load(self.config.as_deref())
    }
}

impl Cli {
    /// Reads the command line. Where it asks for help, or is wrong, that is said and the process ends.
    pub fn read() -> Self {
        let matches = Self::grouped().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    fn grouped() -> clap::Command {
        groups::grouped(Self::command())
    }

    pub fn run(self) -> anyhow::Result<ExitCode> {
        rustls::crypto::aws_lc_rs::default_provider()
            .install_default()
            .map_err(|_| anyhow::anyhow!("a TLS provider was already installed"))?;
        let runtime = tokio::runtime::Runtime::new().context("start the runtime")?;
        let outcome = runtime.block_on(self.command.run());
        // What still blocks a thread (a name being resolved) must not hold up the end.
        runtime.shutdown_background();
        outcome
    }
}

impl Command {
    async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Client(command) => return command.run(Cli::command).await,
            Self::Policy(command) => return command.run().await,
            Self::Dev(dev) => dev.run().await,
            Self::Serve(serve) => serve.run().await,
            Self::Migrate(with) => migrate::run(&with.load()?).await,
            Self::Doctor(with) => Box::pin(doctor::run(&with)).await,
            Self::Healthcheck(healthcheck) => healthcheck.run().await,
            Self::Admin(admin) => admin.run().await,
            Self::Partitions(command) => command.run().await,
            Self::DeadLetters(command) => command.run().await,
            Self::Reference(reference) => reference.run(),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}

/// Writes a line beside the output, for progress and for what went wrong.
fn note(line: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes a line for the person at the terminal; a closed pipe ends nothing.
fn say(line: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{line}");
}
