//! `watchbell events erase`: a job of the server's, watched until it ends.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context as _, ensure};
use clap::Args;
use domain::{ErasureId, EventId};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Filter;
use crate::{
    api::{Api, read},
    exit,
    output::{Form, Unsaid, counted, note, say},
    server::Server,
    table::cell,
};

const LOOKED_AT_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub struct Erase {
    /// The events; or give filters instead, to erase everything that matches them now.
    #[arg(value_name = "EVENT_ID")]
    ids: Vec<EventId>,
    /// Why, in at most 500 characters. It stays in the trail, so do not repeat what is to be erased.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Do not wait for the erasure to finish.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    filter: Filter,
}

impl Erase {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let filter = self.filter.body();
        ensure!(
            self.ids.is_empty() != filter.is_empty(),
            exit::usage("give either the ids of events, or filters")
        );
        let mut body = json!({"reason": self.reason});
        if self.ids.is_empty() {
            body["filter"] = filter.into();
        } else {
            let ids = self.ids.iter().map(ToString::to_string);
            body["ids"] = ids.collect::<Vec<_>>().into();
        }
        let api = self.server.as_person()?;
        let text = api.post("/v1/audit/erasures").json(&body).text().await?;
        let text = if self.no_wait {
            text
        } else {
            watch(&api, &read(&text)?).await?
        };
        let erasure: Value = read(&text)?;
        let said = match self.server.output {
            Form::Json => say(text),
            Form::Table => print(&erasure),
        };
        exit::with(exit::done_if(erasure["state"] != "failed"), said)
    }
}

/// What it came to, as the API says it.
async fn watch(api: &Api, erasure: &Value) -> anyhow::Result<String> {
    let id: ErasureId = erasure["id"]
        .as_str()
        .context("the erasure has no id")?
        .parse()?;
    note(format_args!(
        "watchbell: {id} started; it continues if you stop waiting"
    ));
    loop {
        let path = format!("/v1/audit/erasures/{id}");
        let text = api.get(&path).repeating().text().await?;
        let now: Value = read(&text)?;
        if now["state"] != "running" {
            return Ok(text);
        }
        sleep(LOOKED_AT_EVERY).await;
    }
}

fn print(erasure: &Value) -> Result<(), Unsaid> {
    let number = |field: &str| erasure[field].as_u64().unwrap_or(0);
    let lost = erasure["not_found"].as_array().map_or(0, Vec::len);
    say(format_args!(
        "{} {}: {} erased, {} erased before, {} kept, {lost} not found. The journal keeps copies until {}.",
        cell(erasure, "id"),
        cell(erasure, "state"),
        counted(number("erased"), "event"),
        number("already_erased"),
        number("kept"),
        cell(erasure, "journal_until"),
    ))?;
    if let Some(error) = erasure["error"].as_str() {
        note(format_args!("watchbell: {}", crate::table::plain(error)));
    }
    Ok(())
}
