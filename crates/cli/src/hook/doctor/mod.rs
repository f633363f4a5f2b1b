//! `watchbell hook doctor`: which coding agents of this machine are guarded, and what to do about those that are not.
//!
//! What an agent's settings say is read from the files in which it looks for them ([`places`]). Codex is asked instead, because a
//! hook that nobody trusted is in its files and does not run ([`codex`]).

mod codex;
mod handlers;
mod judge;
mod places;
mod programs;
mod reach;

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use self::{judge::Verdict, reach::Reach};
use super::agent::Agent;
use crate::{
    exit,
    output::{Form, say, say_json},
    server::Server,
    table::{Table, plain},
};

#[derive(Debug, Args)]
pub struct Doctor {
    #[command(flatten)]
    server: Server,
}

/// An agent on this machine.
#[derive(Debug, Serialize)]
struct Checked {
    agent: &'static str,
    version: Option<String>,
    /// Where our hook is.
    settings: Vec<String>,
    is_guarded: bool,
    /// What is wrong, and what to do about it.
    problems: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Report {
    agents: Vec<Checked>,
    server: Reach,
}

impl Doctor {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let server = Reach::of(&self.server.address).await;
        let mut agents = Vec::new();
        for agent in programs::AGENTS {
            if let Some(program) = programs::find(agent) {
                agents.push(check(agent, &program).await);
            }
        }
        let report = Report { agents, server };
        let is_well = report.server.is_well() && report.agents.iter().all(|one| one.is_guarded);
        let said = match self.server.output {
            Form::Json => say_json(&report),
            Form::Table => report.print(),
        };
        exit::with(exit::done_if(is_well), said)
    }
}

async fn check(agent: Agent, program: &programs::Program) -> Checked {
    let version = program.version().await;
    let verdict = match agent {
        Agent::Codex => codex::judge(program).await,
        _ => Verdict::of_files(agent, version.as_deref()),
    };
    Checked {
        agent: agent.name(),
        version,
        is_guarded: verdict.problems.is_empty(),
        settings: verdict.settings,
        problems: verdict.problems,
    }
}

impl Report {
    fn print(&self) -> Result<(), crate::output::Unsaid> {
        if self.agents.is_empty() {
            say("No coding agent that we know is on the PATH.")?;
        } else {
            let mut table = Table::new(["agent", "version", "guarded", "settings"]);
            for one in &self.agents {
                table.row([
                    one.agent.to_owned(),
                    plain(one.version.as_deref().unwrap_or("unknown")),
                    if one.is_guarded { "yes" } else { "no" }.to_owned(),
                    plain(&one.settings.join(", ")),
                ]);
            }
            table.print()?;
        }
        for one in &self.agents {
            for problem in &one.problems {
                say(format_args!("{}: {}", one.agent, plain(problem)))?;
            }
        }
        say(format_args!("server: {}", plain(&self.server.said)))
    }
}
