//! `watchbell deliveries show`.

use std::process::ExitCode;

use clap::Args;
use domain::DeliveryId;
use serde_json::Value;

use crate::{
    answer,
    output::say,
    server::Server,
    table::{Table, cell, print_pairs},
};

#[derive(Debug, Args)]
pub struct Show {
    /// The delivery.
    #[arg(value_name = "DELIVERY_ID")]
    id: DeliveryId,
    #[command(flatten)]
    server: Server,
}

impl Show {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let text = self
            .server
            .api()?
            .get(&format!("/v1/deliveries/{}", self.id))
            .text()
            .await?;
        answer::show(&text, self.server.output, print)
    }
}

fn print(delivery: &Value) -> anyhow::Result<()> {
    let of = |field: &str| cell(delivery, field);
    let with = |first: &str, second: &str| match of(second) {
        text if text.is_empty() => of(first),
        text => format!("{} ({text})", of(first)),
    };
    print_pairs(&[
        ("delivery", of("id")),
        ("state", with("state", "reason")),
        ("", of("explanation")),
        ("rule", with("rule_name", "rule_id")),
        ("event", with("event_type", "event_id")),
        ("to", of("url")),
        ("endpoint", of("endpoint_id")),
        ("cause", of("cause")),
        ("matched at", of("matched_at")),
        ("next attempt", of("next_at")),
    ])?;
    let mut table = Table::new([
        "attempt",
        "started at",
        "trigger",
        "answer",
        "outcome",
        "what went wrong",
    ]);
    for attempt in delivery["attempt_log"].as_array().into_iter().flatten() {
        let fields = [
            "number",
            "started_at",
            "trigger",
            "status",
            "outcome",
            "error",
        ];
        table.row(fields.map(|field| cell(attempt, field)));
    }
    if !table.is_empty() {
        say("")?;
        table.print()?;
    }
    Ok(())
}
