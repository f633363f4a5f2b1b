//! `watchbell rules`: list, create, change and delete alert rules, and try one on an event or on the stored past.

mod backtest;
mod change;
mod create;
mod delete;
mod list;
mod show;
mod trial;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use domain::RuleId;
use reqwest::header::{HeaderValue, IF_MATCH};
use serde_json::Value;

use crate::{api::Call, input};

#[derive(Debug, Subcommand)]
pub enum Rules {
    /// List alert rules, newest first.
    List(list::List),
    /// Create an alert rule. It applies to every event accepted after this command returns.
    Create(create::Create),
    /// Show a rule: what it matches, where its alerts go, and what it did in the last 24 hours.
    #[command(alias = "get")]
    Show(show::Show),
    /// Change some fields of a rule, or replace it. It applies to every event accepted after this command returns.
    Update(change::Update),
    /// Enable a rule.
    Enable(change::Switch),
    /// Disable a rule: it matches nothing until it is enabled again.
    Disable(change::Switch),
    /// Delete a rule, and cancel its deliveries that are still waiting.
    Delete(delete::Delete),
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
            Self::Show(command) => command.run().await,
            Self::Update(command) => command.run().await,
            Self::Enable(command) => command.enable().await,
            Self::Disable(command) => command.disable().await,
            Self::Delete(command) => command.run().await,
            Self::Test(command) => command.run().await,
            Self::Backtest(command) => command.run().await,
        }
    }
}

/// What the rule is expected to be before it is changed.
#[derive(Debug, Args)]
struct IfVersion {
    /// Only if the rule still has this version, as `rules show` prints it; otherwise nothing is changed (exit code 14).
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u32>,
}

impl IfVersion {
    /// The call under this condition.
    fn of(&self, call: Call) -> Call {
        let Some(version) = self.if_version else {
            return call;
        };
        let tag = HeaderValue::try_from(format!("\"{version}\""));
        call.header(
            IF_MATCH,
            tag.expect("digits and quotes are allowed in a header"),
        )
    }
}

/// What becomes of its alerts, in a word.
fn state(rule: &Value) -> &'static str {
    if rule["enabled"] == false {
        "disabled"
    } else if rule["shadow"] == true {
        "shadow"
    } else if !rule["snoozed_until"].is_null() {
        "snoozed"
    } else {
        "enabled"
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
