//! `watchbell deliveries recover`: a job of the server's, watched until it ends.

use std::{process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::Args;
use domain::{RecoveryId, RuleId, Timestamp};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    api::{Api, read},
    exit,
    machine::random,
    moment,
    output::{Form, Unsaid, counted, note, say},
    progress,
    server::Server,
    table::cell,
};

const LOOKED_AT_EVERY: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub struct Recover {
    /// The rule.
    #[arg(long, value_name = "RULE_ID")]
    rule: RuleId,
    /// For events that matched at or after this time: 2026-11-15T09:30:00Z, a day (2026-11-15, yesterday), or how long ago: 15m, 24h, 7d.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    from: Timestamp,
    /// For events that matched before this time; defaults to now.
    #[arg(long, value_name = "TIME", value_parser = moment::argument)]
    to: Option<Timestamp>,
    /// In this state; defaults to held and failed. Canceled and delivered are possible too; so are pending and scheduled, for deliveries that the queue has lost.
    #[arg(long)]
    state: Vec<String>,
    /// Only count the deliveries.
    #[arg(long)]
    dry_run: bool,
    /// Do not wait for the recovery to finish.
    #[arg(long, conflicts_with = "dry_run")]
    no_wait: bool,
    #[command(flatten)]
    server: Server,
}

impl Recover {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let api = self.server.api()?;
        let mut body = json!({"since": self.from.to_string(), "dry_run": self.dry_run});
        if let Some(to) = self.to {
            body["until"] = to.to_string().into();
        }
        if !self.state.is_empty() {
            body["states"] = self.state.into();
        }
        let call = api
            .post(&format!("/v1/alert-rules/{}/recover", self.rule))
            .json(&body);
        let text = call
            .named(&hex::encode(random::<16>()))
            .repeating()
            .text()
            .await?;
        let form = self.server.output;
        if self.dry_run {
            match form {
                Form::Json => say(text)?,
                Form::Table => counted_only(&read(&text)?)?,
            }
            return Ok(exit::DONE);
        }
        let text = if self.no_wait {
            text
        } else {
            watch(&api, &read(&text)?).await?
        };
        let recovery: Value = read(&text)?;
        let has_failed = ["failed", "canceled"].contains(&recovery["state"].as_str().unwrap_or(""));
        let said = match form {
            Form::Json => say(text),
            Form::Table => print(&recovery),
        };
        exit::with(exit::done_if(!has_failed), said)
    }
}

/// What it came to, as the API says it.
async fn watch(api: &Api, recovery: &Value) -> anyhow::Result<String> {
    let id: RecoveryId = recovery["id"]
        .as_str()
        .context("the recovery has no id")?
        .parse()?;
    note(format_args!(
        "watchbell: {id} started; it continues if you stop waiting"
    ));
    let bar = progress::of(recovery["total"].as_u64().unwrap_or(0));
    loop {
        let text = api
            .get(&format!("/v1/recoveries/{id}"))
            .repeating()
            .text()
            .await?;
        let now: Value = read(&text)?;
        bar.set_length(now["total"].as_u64().unwrap_or(0));
        bar.set_position(now["done"].as_u64().unwrap_or(0) + now["skipped"].as_u64().unwrap_or(0));
        if now["state"] != "running" {
            bar.finish_and_clear();
            return Ok(text);
        }
        sleep(LOOKED_AT_EVERY).await;
    }
}

fn counted_only(count: &Value) -> anyhow::Result<()> {
    let total = count["count"].as_u64().unwrap_or(0);
    say(format_args!(
        "{} would be resent.",
        counted(total, "delivery")
    ))?;
    for (state, count) in count["by_state"].as_object().into_iter().flatten() {
        say(format_args!("  {count} {state}"))?;
    }
    Ok(())
}

fn print(recovery: &Value) -> Result<(), Unsaid> {
    let number = |field: &str| recovery[field].as_u64().unwrap_or(0);
    say(format_args!(
        "{} {}: {} resent, {} skipped.",
        cell(recovery, "id"),
        cell(recovery, "state"),
        counted(number("done"), "delivery"),
        number("skipped"),
    ))?;
    if let Some(error) = recovery["error"].as_str() {
        note(format_args!("watchbell: {}", crate::table::plain(error)));
    }
    Ok(())
}
