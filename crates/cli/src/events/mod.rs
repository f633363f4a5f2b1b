//! `watchbell events`: send audit events, list them, watch them come, erase them.

mod batch;
mod erase;
mod filter;
mod list;
mod send;
mod show;
mod sse;
mod tail;

use std::process::ExitCode;

use clap::Subcommand;
use console::style;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

pub(crate) use self::filter::Filter;
use crate::table::cell;

#[derive(Debug, Subcommand)]
pub enum Events {
    /// Send events: JSON, or one event per line, from a file or standard input; or a single event built from options.
    Send(send::Send),
    /// List events, newest first.
    List(list::List),
    /// Show an event.
    #[command(alias = "get")]
    Show(show::Show),
    /// Show events as they are accepted, until stopped.
    Tail(tail::Tail),
    /// Erase events for good, so that only the proof remains that they were there; for owners.
    Erase(Box<erase::Erase>),
}

impl Events {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Send(command) => command.run().await,
            Self::List(command) => command.run().await,
            Self::Show(command) => command.run().await,
            Self::Tail(command) => command.run().await,
            Self::Erase(command) => command.run().await,
        }
    }
}

/// A page of the list, its events as they were sent.
#[derive(Deserialize)]
struct Page {
    data: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
    fresh: bool,
}

/// What happened, in a few words: `tool_call files.delete by demo-agent: denied`.
pub(crate) fn told(event: &Value) -> String {
    let field = |name: &str| match cell(event, name) {
        text if text.is_empty() => "?".to_owned(),
        text => text,
    };
    format!(
        "{} {} by {}: {}",
        field("event_type"),
        field("action"),
        field("agent_id"),
        field("result"),
    )
}

/// An event on a line of its own.
fn line(event: &Value) -> String {
    let told = told(event);
    let told = match event["result"].as_str() {
        Some("denied" | "error" | "violation") => style(told).red().to_string(),
        _ => told,
    };
    format!(
        "{}  {told}  ({})",
        cell(event, "occurred_at"),
        cell(event, "id")
    )
}
