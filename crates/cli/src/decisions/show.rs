//! `watchbell decisions show`.

use std::process::ExitCode;

use clap::Args;
use domain::DecisionId;
use serde_json::Value;

use super::facts;
use crate::{
    answer, color,
    output::{Unsaid, say},
    server::Server,
    table::{cell, print_pairs},
};

#[derive(Debug, Args)]
pub struct Show {
    /// The decision.
    #[arg(value_name = "DECISION_ID")]
    id: DecisionId,
    #[command(flatten)]
    server: Server,
}

impl Show {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/runtime/decisions/{}", self.id);
        let text = self.server.api()?.get(&path).text().await?;
        answer::show(&text, self.server.output, print)
    }
}

/// A decision in full, for whoever has to judge it.
pub(crate) fn print(decision: &Value) -> Result<(), Unsaid> {
    let of = |field: &str| cell(decision, field);
    say(format_args!(
        "{}: {}",
        color::word(&of("decision")),
        of("reason")
    ))?;
    let resolution = &decision["resolution"];
    let by = [
        cell(resolution, "by"),
        cell(resolution, "at"),
        cell(resolution, "note"),
    ];
    let by: Vec<String> = by.into_iter().filter(|text| !text.is_empty()).collect();
    // What the policies show comes first: it says what there is to judge.
    let facts = facts::pairs(decision);
    let facts = facts
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()));
    let rest = [
        ("agent", of("agent_id")),
        ("action", of("action")),
        ("resource", of("resource")),
        ("session", of("session_id")),
        ("context", cell(&decision["question"], "context")),
        ("payload", of("payload")),
        ("policies", of("policies")),
        ("version", of("policy_version")),
        ("decided at", of("decided_at")),
        ("asked by", of("asked_by")),
        ("waits until", of("expires_at")),
        ("outcome", cell(resolution, "outcome")),
        ("resolved", by.join(", ")),
        ("used by", of("spent_by")),
        ("decision", of("decision_id")),
    ];
    print_pairs(&facts.chain(rest).collect::<Vec<_>>())
}
