//! The client command line: what a developer or an operator does with a server from a terminal.
//!
//! The same commands are in the `watchbell` binary, beside those that run a server, and alone in `watchbell-cli`.
//!
//! | file | what |
//! |---|---|
//! | `server`, `login` | which server, as whom |
//! | `api`, `problem` | calls, and why one was refused |
//! | `events/`, `rules/`, `deliveries/`, `decide`, `export` | a folder or file for each noun of the API |
//! | `listen/`, `receiver`, `trigger`, `verify`, `secret` | webhooks, seen from the receiver |
//! | `policy` | policies without a server |
//! | `output`, `table`, `progress`, `exit` | what people and programs read |
//! | `input`, `moment`, `machine`, `stop` | what a command is given |
//! | `reference` | the page that documents it all |

mod api;
mod decide;
mod deliveries;
mod events;
mod exit;
mod export;
mod input;
mod listen;
mod login;
mod machine;
mod moment;
mod output;
pub mod policy;
mod problem;
mod progress;
pub mod receiver;
pub mod reference;
mod rules;
mod secret;
mod server;
mod stop;
mod table;
mod trigger;
mod verify;

use std::process::ExitCode;

use clap::Subcommand;
use clap_complete::Shell;

/// The commands of a client.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Save where the server is and an API key, which is read without being shown, or from the standard input.
    Login(login::Login),
    /// Send, list and watch audit events.
    #[command(subcommand)]
    Events(events::Events),
    /// List and try alert rules.
    #[command(subcommand)]
    Rules(rules::Rules),
    /// See what became of alerts, and send them again.
    #[command(subcommand)]
    Deliveries(deliveries::Deliveries),
    /// Ask whether an agent may do something. Exits 0 for allow and modify, 3 for deny, 4 for escalate.
    Decide(decide::Decide),
    /// Write the trail, or a part of it, into a file, and check that it is whole.
    Export(export::Export),
    /// Receive webhooks on this machine: verify them, show them, pass them on.
    Listen(listen::Listen),
    /// Send a test delivery: by the server to a rule's endpoint, or from here to any URL.
    Trigger(trigger::Trigger),
    /// Check the signature of a delivery, without a server. Exits 1 if it is refused.
    Verify(verify::Verify),
    /// Sign a body as a delivery is signed, without a server.
    Sign(verify::Sign),
    /// Print what makes a shell complete these commands.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

impl Command {
    /// Runs it. `root` is the command line that it is part of.
    pub async fn run(self, root: fn() -> clap::Command) -> anyhow::Result<ExitCode> {
        let outcome = match self {
            Self::Login(command) => command.run().await,
            Self::Events(command) => command.run().await,
            Self::Rules(command) => command.run().await,
            Self::Deliveries(command) => command.run().await,
            Self::Decide(command) => command.run().await,
            Self::Export(command) => Box::pin(command.run()).await,
            Self::Listen(command) => Box::pin(command.run()).await,
            Self::Trigger(command) => Box::pin(command.run()).await,
            Self::Verify(command) => command.run(),
            Self::Sign(command) => command.run(),
            Self::Completions { shell } => completions(shell, root()),
        };
        exit::unless_closed(outcome)
    }
}

/// The last words of a program that failed, and how it exits.
pub fn failed(program: &str, error: &anyhow::Error) -> ExitCode {
    output::note(format_args!("{program}: {error:#}"));
    exit::FAILED
}

fn completions(shell: Shell, mut root: clap::Command) -> anyhow::Result<ExitCode> {
    let name = root.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut root, name, &mut script);
    output::say(String::from_utf8(script)?.trim_end())?;
    Ok(exit::DONE)
}
