//! `watchbell policy`: policies and their tests without a server, for CI; and from a file into force.

mod activate;
mod list;
mod save;
mod shadow;
mod show;
mod state;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use policy::check::{Report, check};
use policy::test::Test;
use serde::de::DeserializeOwned;

use crate::{
    exit,
    input::text,
    output::{Form, Unsaid, note, say, say_json},
    page,
};

#[derive(Debug, Subcommand)]
pub enum Policy {
    /// Check policies and run their tests, as the server does before it saves them. Exits 1 if something is wrong.
    #[command(alias = "check")]
    Test(Check),
    /// Save policies as a new version, and activate it with --activate.
    Save(save::Save),
    /// List the versions of the policies, newest first.
    List(page::List),
    /// Print the policies of a version, in Cedar.
    #[command(alias = "get")]
    Show(show::Show),
    /// Activate a version; every node uses it once this command has returned.
    Activate(activate::Activate),
    /// Activate the version that was active before; every node uses it once this command has returned.
    Rollback(activate::Rollback),
    /// Put a version in shadow: evaluate it beside the active one, enforce nothing, and report what it would have changed.
    Shadow(shadow::Shadow),
}

/// Policies as files.
#[derive(Debug, Args)]
struct Written {
    /// Policies in Cedar.
    #[arg(value_name = "POLICIES.cedar")]
    policies: PathBuf,
    /// The schema of the policies.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Tests for the policies, a JSON array.
    #[arg(long, value_name = "FILE")]
    tests: Option<PathBuf>,
}

impl Written {
    fn policies(&self) -> anyhow::Result<String> {
        text(&self.policies)
    }

    fn schema(&self) -> anyhow::Result<Option<String>> {
        self.schema.as_deref().map(text).transpose()
    }

    fn tests<T: DeserializeOwned>(&self) -> anyhow::Result<Vec<T>> {
        let Some(file) = &self.tests else {
            return Ok(Vec::new());
        };
        serde_json::from_str(&text(file)?)
            .with_context(|| exit::invalid(format!("read the tests in {}", file.display())))
    }
}

#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    written: Written,
    /// Output format: a table for people, or JSON for programs.
    #[arg(long, short, value_enum, default_value_t)]
    output: Form,
}

impl Policy {
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        exit::unless_closed(match self {
            Self::Test(command) => command.run(),
            Self::Save(command) => command.run().await,
            Self::List(command) => list::run(&command).await,
            Self::Show(command) => command.run().await,
            Self::Activate(command) => command.run().await,
            Self::Rollback(command) => command.run().await,
            Self::Shadow(command) => command.run().await,
        })
    }
}

impl Check {
    fn run(self) -> anyhow::Result<ExitCode> {
        let (policies, schema) = (self.written.policies()?, self.written.schema()?);
        let tests: Vec<Test> = self.written.tests()?;
        let report = check(&policies, schema.as_deref(), &tests);
        let said = match self.output {
            Form::Json => say_json(&report),
            Form::Table => print(&report),
        };
        if !report.is_good() {
            note("watchbell: these policies would not be saved");
        }
        exit::with(exit::done_if(report.is_good()), said)
    }
}

fn print(report: &Report) -> Result<(), Unsaid> {
    for fault in &report.errors {
        say(format_args!("error    {fault}"))?;
    }
    for warning in &report.warnings {
        say(format_args!(
            "warning  {}: {}",
            warning.pointer, warning.detail
        ))?;
    }
    for test in &report.tests {
        let became = if test.passed { "passed" } else { "FAILED" };
        let (expected, got) = (test.expected.decision.as_str(), test.decision.as_str());
        say(format_args!(
            "{became}   {}: expects {expected}, gets {got}: {}",
            test.name, test.reason
        ))?;
    }
    say(format_args!(
        "{} policies, {} errors, {} warnings, {} tests.",
        report.policies,
        report.errors.len(),
        report.warnings.len(),
        report.tests.len()
    ))
}
