//! `watchbell events list`: a page of events, or all of them.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::{Filter, Page};
use crate::{
    api, exit,
    output::{Form, note, one_line, say},
    server::Server,
    table::{Table, cell},
};

/// The largest page there is.
const PAGE_MAX: u32 = 1_000;

#[derive(Debug, Args)]
pub struct List {
    /// Newest first, or oldest first.
    #[arg(long, value_enum, default_value_t)]
    order: Order,
    /// Maximum number of results, 1 to 1000.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=i64::from(PAGE_MAX)))]
    limit: u32,
    /// Cursor from the previous page; use the same filters and order.
    #[arg(long)]
    cursor: Option<String>,
    /// Fetch all pages. With `--output json`, print one event per line.
    #[arg(long, conflicts_with_all = ["limit", "cursor"])]
    all: bool,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    filter: Filter,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Order {
    #[default]
    Desc,
    Asc,
}

impl List {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let api = self.server.api()?;
        let form = self.server.output;
        let mut cursor = self.cursor.clone();
        for number in 0_u64.. {
            let call = api
                .get("/v1/audit/events")
                .query(&self.parameters(cursor.as_deref()));
            let call = if self.all { call.repeating() } else { call };
            let text = call.text().await?;
            let page: Page = api::read(&text)?;
            match (form, self.all) {
                (Form::Json, false) => say(&text)?,
                (Form::Json, true) => page
                    .data
                    .iter()
                    .try_for_each(|event| say(one_line(event.get())))?,
                (Form::Table, _) => table(&page, number == 0)?,
            }
            if !page.fresh {
                note(
                    "watchbell: some of the newest events are not listed yet; try again in a moment",
                );
            }
            cursor = page.next_cursor;
            if cursor.is_none() || !self.all {
                break;
            }
        }
        if let Some(cursor) = cursor.filter(|_| form == Form::Table) {
            note(format_args!(
                "There may be more: --cursor {cursor}, or --all."
            ));
        }
        Ok(exit::DONE)
    }

    fn parameters(&self, cursor: Option<&str>) -> Vec<(&'static str, String)> {
        let limit = if self.all { PAGE_MAX } else { self.limit };
        let order = match self.order {
            Order::Desc => "desc",
            Order::Asc => "asc",
        };
        let mut parameters = self.filter.parameters();
        parameters.push(("order", order.to_owned()));
        parameters.push(("limit", limit.to_string()));
        parameters.extend(cursor.map(|cursor| ("cursor", cursor.to_owned())));
        parameters
    }
}

fn table(page: &Page, is_first: bool) -> anyhow::Result<()> {
    let mut table = Table::new(["occurred at", "type", "agent", "action", "result", "id"]);
    for event in &page.data {
        let event: Value = api::read(event.get())?;
        let fields = [
            "occurred_at",
            "event_type",
            "agent_id",
            "action",
            "result",
            "id",
        ];
        table.row(fields.map(|field| cell(&event, field)));
    }
    if table.is_empty() && is_first {
        note("No events.");
    } else if !table.is_empty() {
        table.print()?;
    }
    Ok(())
}
