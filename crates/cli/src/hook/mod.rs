//! `watchbell hook`: coding agents that ask before a tool runs, and tell when it ran.
//!
//! Claude Code posts to the server by itself. For the others, and for Claude Code where that is wanted, `hook run` is the command
//! that their settings name: what an agent hands to it goes to the server, and what the server answers, in the agent's own words,
//! goes back. Agents go on when a command fails, is missing or is late; only an exit code of 2 blocks a call in all of them. So the
//! settings that we print turn every failure into a 2, and `hook run` is never late.
//!
//! | file | what |
//! |---|---|
//! | `agent` | the agents, by the names that commands and addresses have for them |
//! | `run` | one call: asked about, or told of |
//! | `claude_code` | Claude Code's settings, with our address in them |
//! | `settings`, `command` | every agent's settings, with our command in them |
//! | `doctor/` | which agents of this machine are guarded |

mod agent;
mod claude_code;
mod command;
mod doctor;
mod run;
mod settings;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::command::HookCommand;
use crate::{exit, output::say};

/// The longest wait for a person, in seconds (the API's bound).
const WAIT_S_MAX: u64 = 20;
/// How long an agent waits for a hook, in seconds: longer than one ever takes. What is late is no answer, and agents go on then.
const TIMEOUT_S: u64 = 45;

#[derive(Debug, Subcommand)]
pub enum Hook {
    /// Print the hooks for Claude Code's settings.json.
    ClaudeCode(claude_code::ClaudeCode),
    /// Print the hooks for Codex's hooks.json.
    Codex(Managed),
    /// Print the hooks for Gemini CLI's settings.json.
    Gemini(Managed),
    /// Print the hooks for a file in GitHub Copilot CLI's folder of hooks.
    Copilot(HookCommand),
    /// Print the hooks for Cursor's hooks.json.
    Cursor(HookCommand),
    /// Be the hook of an agent: ask the server about the call on standard input, and print the answer. Exits 2 if there is none, so
    /// that the call is blocked.
    Run(run::Run),
    /// Say which coding agents on this machine are guarded, and what to do about those that are not.
    Doctor(doctor::Doctor),
}

#[derive(Debug, Args)]
pub struct Managed {
    #[command(flatten)]
    command: HookCommand,
    /// Print them for the settings that an administrator writes, which people cannot switch off.
    #[arg(long)]
    managed: bool,
}

impl Hook {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let printed = match self {
            Self::Run(command) => return command.run().await,
            Self::Doctor(command) => return command.run().await,
            Self::ClaudeCode(command) => command.settings()?,
            Self::Codex(wanted) if wanted.managed => settings::codex_requirements(&wanted.command)?,
            Self::Codex(wanted) => settings::json(&settings::codex(&wanted.command)?),
            Self::Gemini(wanted) => {
                settings::json(&settings::gemini(&wanted.command, wanted.managed)?)
            }
            Self::Copilot(command) => settings::json(&settings::copilot(&command)?),
            Self::Cursor(command) => settings::json(&settings::cursor(&command)?),
        };
        say(printed)?;
        Ok(exit::DONE)
    }
}
