//! `watchbell rules`: list and make alert rules, and try one on an event or on the stored past.

mod backtest;
mod create;
mod list;
mod trial;

use std::{path::PathBuf, process::ExitCode};

use clap::Subcommand;
use domain::RuleId;
use serde_json::Value;

use crate::input;

#[derive(Debug, Subcommand)]
pub enum Rules {
    /// List alert rules, newest first.
    List(list::List),
    /// Create an alert rule. It applies to every event accepted after this command returns.
    Create(create::Create),
    /// Test a rule against an event, and show which conditions are met. Exits 1 if the rule does not match.
    Test(trial::Trial),
    /// Backtest a rule against the stored events of a time range, and count what it would have done.
    Backtest(backtest::Backtest),
}

impl Rules {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(command) => command.run().await,
            Self::Create(command) => command.run().await,
            Self::Test(command) => command.run().await,
            Self::Backtest(command) => command.run().await,
        }
    }
}

/// A rule that is saved, or one in a file.
#[derive(Clone, Debug)]
enum Rule {
    Saved(RuleId),
    Written(PathBuf),
}

impl Rule {
    /// For clap: what has the form of an id is one.
    #[expect(clippy::unnecessary_wraps, reason = "clap asks for a result")]
    fn argument(text: &str) -> Result<Self, String> {
        Ok(text
            .parse()
            .map_or_else(|_| Self::Written(PathBuf::from(text)), Self::Saved))
    }

    /// How the API is told: by id, or as a whole.
    fn field(&self) -> anyhow::Result<(&'static str, Value)> {
        match self {
            Self::Saved(id) => Ok(("rule_id", Value::from(id.to_string()))),
            Self::Written(file) => Ok(("rule", input::json(file)?)),
        }
    }
}
