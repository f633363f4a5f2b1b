//! `watchbell policy shadow`: a version that is evaluated beside the active one, and what it would have changed.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::state;
use crate::{
    answer,
    api::Api,
    output::{Form, Unsaid, say},
    server::Server,
    table::{Table, cell, plain, print_pairs},
};

#[derive(Debug, Args)]
pub struct Shadow {
    /// The version to put in shadow, instead of the one that is there now. Without it, the report on that one is shown.
    version: Option<u32>,
    /// Take the version out of shadow.
    #[arg(long, conflicts_with = "version")]
    stop: bool,
    #[command(flatten)]
    server: Server,
}

impl Shadow {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let (api, form) = (self.server.api()?, self.server.output);
        match self.version {
            Some(version) => start(&api, version, form).await,
            None if self.stop => stop(&api, form).await,
            None => report(&api, form).await,
        }
    }
}

async fn start(api: &Api, version: u32, form: Form) -> anyhow::Result<ExitCode> {
    let path = format!("/v1/policies/versions/{version}/shadow");
    let text = api.post(&path).text().await?;
    answer::show(&text, form, state::print)
}

async fn stop(api: &Api, form: Form) -> anyhow::Result<ExitCode> {
    api.delete("/v1/policies/shadow").send().await?;
    answer::done(form, "no version is in shadow")
}

async fn report(api: &Api, form: Form) -> anyhow::Result<ExitCode> {
    let text = api.get("/v1/policies/shadow").text().await?;
    answer::show(&text, form, print)
}

fn print(report: &Value) -> Result<(), Unsaid> {
    let of = |field: &str| cell(report, field);
    print_pairs(&[
        ("version", of("version")),
        ("in shadow since", of("since")),
        ("only back to", of("searched_to")),
        ("compared", of("evaluated")),
        ("different", of("changed")),
        ("would be denied", of("would_have_denied")),
        ("skipped", of("skipped")),
    ])?;
    let mut transitions = Table::new(["change", "decisions"]);
    for (change, count) in report["by_transition"].as_object().into_iter().flatten() {
        transitions.row([plain(change), count.to_string()]);
    }
    if !transitions.is_empty() {
        say("")?;
        transitions.print()?;
    }
    let fields = [
        "at",
        "before",
        "after",
        "principal",
        "action",
        "resource",
        "decision_id",
    ];
    let mut samples = Table::new([
        "newest changes",
        "before",
        "after",
        "agent",
        "action",
        "resource",
        "id",
    ]);
    for sample in report["samples"].as_array().into_iter().flatten() {
        samples.row(fields.map(|field| cell(sample, field)));
    }
    if !samples.is_empty() {
        say("")?;
        samples.print()?;
    }
    Ok(())
}
