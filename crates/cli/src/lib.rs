//! The client command line: what a developer or an operator does with a server from a terminal.
//!
//! The same commands are in the `watchbell` binary, beside those that run a server, and alone in `watchbell-cli`.
//!
//! | file | what |
//! |---|---|
//! | `server`, `saved`, `login` | which server, as whom |
//! | `api`, `problem` | calls, and why one was refused |
//! | `request` | `watchbell api`: any call |
//! | `events/`, `rules/`, `deliveries/`, `endpoints/`, `decide`, `decisions/`, `approvals/`, `export` | a folder or file for each noun of the API |
//! | `keys/`, `secrets/`, `members/` | who has access, which is for people only |
//! | `listen/`, `receiver`, `trigger`, `verify`, `secret` | webhooks, seen from the receiver |
//! | `mcp/` | a guard in front of an MCP server |
//! | `hook/` | coding agents, and which of them are guarded |
//! | `trail/` | the trail as an auditor has it: checked without a server |
//! | `policy/` | policies, without a server and on one |
//! | `witness/` | somebody else's memory of a transparency log |
//! | `output`, `answer`, `table`, `page`, `color`, `progress`, `exit`, `failed` | what people and programs read |
//! | `input`, `moment`, `machine`, `stop`, `connections` | what a command is given |
//! | `reference` | the page that documents it all |

mod answer;
mod api;
mod approvals;
mod color;
mod connections;
mod decide;
mod decisions;
mod deliveries;
mod endpoints;
mod events;
mod exit;
mod export;
mod failed;
mod hook;
mod input;
mod keys;
mod listen;
mod login;
mod machine;
mod mcp;
mod members;
mod moment;
mod output;
mod page;
pub mod policy;
mod problem;
mod progress;
pub mod receiver;
pub mod reference;
mod request;
mod rules;
mod saved;
mod secret;
mod secrets;
mod server;
mod stop;
mod table;
mod trail;
mod trigger;
mod verify;
mod witness;

use std::process::ExitCode;

use clap::Subcommand;
use clap_complete::Shell;

pub use failed::failed;

/// The commands of a client.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Save the server URL and an API key, or with --email log in as a person. Keys and passwords are prompted for without
    /// echo, or read from standard input.
    Login(login::Login),
    /// End the session of `login --email`, and delete what `login` saved.
    Logout,
    /// Send any request to the API and print the response, for what has no command of its own.
    Api(request::Request),
    /// Send, list, show and watch audit events.
    #[command(subcommand)]
    Events(events::Events),
    /// List, create, change and test alert rules.
    #[command(subcommand)]
    Rules(rules::Rules),
    /// Inspect deliveries and resend them.
    #[command(subcommand)]
    Deliveries(deliveries::Deliveries),
    /// See which endpoints have problems; pause, resume and verify them.
    #[command(subcommand)]
    Endpoints(endpoints::Endpoints),
    /// Ask whether an agent may do something. Exits 0 for allow and modify, 3 for deny, 4 for escalate.
    Decide(decide::Decide),
    /// List and show what agents asked and what they were answered.
    #[command(subcommand)]
    Decisions(decisions::Decisions),
    /// List, approve and deny what waits for a person's approval.
    #[command(subcommand)]
    Approvals(approvals::Approvals),
    /// List, create, rotate and revoke API keys. Needs `login --email`.
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Show, stage, promote and drop the secrets that sign webhooks. Needs `login --email`.
    #[command(subcommand)]
    Secrets(secrets::Secrets),
    /// List, invite and remove the members of your organization, and change their roles. Needs `login --email`.
    #[command(subcommand)]
    Members(members::Members),
    /// Export the trail, or part of it, to a file, and verify that the file is complete.
    Export(export::Export),
    /// Check the trail as an auditor does: offline, without a server.
    #[command(subcommand)]
    Trail(trail::Trail),
    /// Receive webhooks on this machine: verify, show and forward them.
    Listen(listen::Listen),
    /// Send a test delivery: from the server to a rule's endpoint, or from this machine to any URL.
    Trigger(trigger::Trigger),
    /// Verify a delivery's signature, without a server. Exits 1 if it is refused.
    Verify(verify::Verify),
    /// Sign a body the way deliveries are signed, without a server.
    Sign(verify::Sign),
    /// Guard coding agents by their hooks: print settings for them, answer them, and say which are guarded.
    #[command(subcommand)]
    Hook(hook::Hook),
    /// Guard an MCP server: decide about each call of its tools, and record it.
    #[command(subcommand)]
    Mcp(mcp::Mcp),
    /// Cosign the checkpoints of transparency logs, on a machine that their operator does not control.
    Witness(witness::Run),
    /// Print a shell completion script.
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
            Self::Logout => login::log_out().await,
            Self::Api(command) => command.run().await,
            Self::Events(command) => command.run().await,
            Self::Rules(command) => command.run().await,
            Self::Deliveries(command) => command.run().await,
            Self::Endpoints(command) => command.run().await,
            Self::Decide(command) => command.run().await,
            Self::Decisions(command) => command.run().await,
            Self::Approvals(command) => command.run().await,
            Self::Keys(command) => command.run().await,
            Self::Secrets(command) => command.run().await,
            Self::Members(command) => command.run().await,
            Self::Export(command) => Box::pin(command.run()).await,
            Self::Trail(command) => command.run(),
            Self::Listen(command) => Box::pin(command.run()).await,
            Self::Trigger(command) => Box::pin(command.run()).await,
            Self::Verify(command) => command.run(),
            Self::Sign(command) => command.run(),
            Self::Hook(command) => Box::pin(command.run()).await,
            Self::Mcp(command) => Box::pin(command.run()).await,
            Self::Witness(command) => Box::pin(command.run()).await,
            Self::Completions { shell } => completions(shell, root()),
        };
        exit::unless_closed(outcome)
    }
}

/// What exit codes mean, in short: for the end of a help text.
pub fn exit_codes() -> String {
    exit::in_short()
}

fn completions(shell: Shell, mut root: clap::Command) -> anyhow::Result<ExitCode> {
    let name = root.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut root, name, &mut script);
    output::say(String::from_utf8(script)?.trim_end())?;
    Ok(exit::DONE)
}
