//! `watchbell partitions`: prints the days of the trail, how large they are and how long they stay.

use std::time::Duration;

use clap::Args;
use domain::Timestamp;
use serde_json::json;
use store::partitions::{Day, Table};

use super::{WithConfig, say};
use crate::{node, system_clock};

#[derive(Debug, Args)]
pub(super) struct Partitions {
    #[command(flatten)]
    with: WithConfig,
    /// Print JSON, a line for each day.
    #[arg(long)]
    json: bool,
}

impl Partitions {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let (store, now) = (node::open_store(&config)?, system_clock::SYSTEM.now());
        if !self.json {
            say(format_args!(
                "{:<26}  {:<10}  {:>12}  {:>10}  state",
                "table", "day", "rows (about)", "size"
            ));
        }
        for table in Table::ALL {
            let kept = match table {
                Table::AuditEvents => config.retention(),
                Table::Deliveries | Table::DeliveryAttempts => config.delivery_retention(),
            };
            for day in store.days(table).await? {
                let state = state(&day, kept, now);
                say(if self.json {
                    as_json(&day, &state)
                } else {
                    as_line(&day, &state)
                });
            }
        }
        Ok(())
    }
}

/// What a day is waiting for.
fn state(day: &Day, kept: Duration, now: Timestamp) -> String {
    let archived = if day.is_archived { ", archived" } else { "" };
    if day.from > now {
        "ahead".to_owned()
    } else if day.to > now {
        "current".to_owned()
    } else if day.is_overdue(kept, now) {
        format!("overdue{archived}")
    } else {
        format!("kept until {}{archived}", date(day.to.plus(kept)))
    }
}

fn as_line(day: &Day, state: &str) -> String {
    let rows = day.rows.map_or("?".to_owned(), |rows| rows.to_string());
    format!(
        "{:<26}  {}  {rows:>12}  {:>10}  {state}",
        day.table,
        date(day.from),
        size(day.bytes)
    )
}

fn as_json(day: &Day, state: &str) -> String {
    json!({
        "table": day.table, "day": date(day.from), "from": day.from, "to": day.to, "rows": day.rows,
        "bytes": day.bytes, "archived": day.is_archived, "state": state,
    })
    .to_string()
}

/// The date of a moment.
fn date(at: Timestamp) -> String {
    at.to_string().chars().take("2026-11-15".len()).collect()
}

/// Bytes for people.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let unit = UNITS.iter().find(|(_, one)| bytes >= *one);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(name, one)| format!("{}.{} {name}", bytes / one, bytes % one * 10 / one),
    )
}
