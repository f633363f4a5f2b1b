//! `watchbell rules backtest`: the stored past put before a rule, with how far it is.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use domain::Timestamp;
use serde_json::{Map, Value};

use super::Rule;
use crate::{
    api::{Unreachable, read},
    events::told,
    exit, moment,
    output::{Form, counted, say},
    progress,
    server::Server,
    table::{Table, cell, print_pairs},
};

/// The most that is kept of a line that does not end; the last one has ten events of 32 KiB, and a line for each day.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Parts of the progress bar.
const WHOLE: u64 = 1_000;

#[derive(Debug, Args)]
pub struct Backtest {
    /// The id of a saved rule, or a file that contains one.
    #[arg(value_name = "RULE_ID|RULE.json", value_parser = Rule::argument)]
    rule: Rule,
    /// Events that occurred at or after this time; defaults to 24 hours ago.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    from: Option<Timestamp>,
    /// Events that occurred before this time; defaults to now.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    to: Option<Timestamp>,
    #[command(flatten)]
    server: Server,
}

impl Backtest {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let api = self.server.api()?;
        let range = [("from", self.from), ("to", self.to)];
        let range = range
            .into_iter()
            .filter_map(|(name, at)| Some((name.to_owned(), at?.to_string().into())));
        let mut body: Map<String, Value> = range.collect();
        let path = match &self.rule {
            Rule::Saved(id) => format!("/v1/alert-rules/{id}/backtest"),
            Rule::Written(_) => {
                let (name, rule) = self.rule.field()?;
                body.insert(name.to_owned(), rule);
                "/v1/alert-rules/backtest".to_owned()
            }
        };
        let mut response = api
            .post(&path)
            .json(&body)
            .without_end()
            .waiting()
            .send()
            .await?;
        let bar = progress::of(WHOLE);
        let mut rest = Vec::new();
        let mut last = None;
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| Unreachable::new(api.base(), &error))?
        {
            rest.extend_from_slice(&piece);
            anyhow::ensure!(
                rest.len() <= LINE_BYTES_MAX,
                "the response has a line longer than 4 MiB"
            );
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                let line = String::from_utf8(line).context("the response is not text")?;
                let value: Value = read(line.trim_end())?;
                draw(&bar, &value);
                if value["done"] == true {
                    last = Some((line, value));
                }
            }
        }
        bar.finish_and_clear();
        let (line, result) = last.context(
            "the backtest was cut off: the key was revoked, or the server could not continue; try again",
        )?;
        match self.server.output {
            Form::Json => say(line.trim_end())?,
            Form::Table => print(&result)?,
        }
        Ok(exit::DONE)
    }
}

fn draw(bar: &indicatif::ProgressBar, value: &Value) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "0 to 1000"
    )]
    let position =
        (value["progress"].as_f64().unwrap_or(1.0).clamp(0.0, 1.0) * WHOLE as f64) as u64;
    bar.set_position(position);
    bar.set_message(format!(
        "{} events, {} matched",
        value["scanned"], value["matched"]
    ));
}

fn print(result: &Value) -> anyhow::Result<()> {
    print_pairs(&[
        (
            "scanned",
            format!(
                "{} in {} ms",
                counted(result["scanned"].as_u64().unwrap_or(0), "event"),
                result["took_ms"]
            ),
        ),
        ("matched", result["matched"].to_string()),
        ("alerts", result["alerts"].to_string()),
        ("suppressed", result["suppressed"].to_string()),
        ("incomplete", cell(result, "incomplete_because")),
    ])?;
    let mut days = Table::new(["day", "matched", "alerts"]);
    for day in result["by_day"].as_array().into_iter().flatten() {
        days.row(["day", "matched", "alerts"].map(|field| cell(day, field)));
    }
    if !days.is_empty() {
        say("")?;
        days.print()?;
    }
    let mut samples = Table::new(["occurred at", "newest matches", "id"]);
    for event in result["samples"].as_array().into_iter().flatten() {
        samples.row([cell(event, "occurred_at"), told(event), cell(event, "id")]);
    }
    if !samples.is_empty() {
        say("")?;
        samples.print()?;
    }
    Ok(())
}
