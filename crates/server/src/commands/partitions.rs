//! `watchbell partitions`: prints the days of the trail, how large they are and how long they stay.

use clap::Args;
use serde_json::json;
use store::partitions::{DayTable, Table};

use super::{WithConfig, say};
use crate::{node, system::days::DayState, system_clock};

#[derive(Debug, Args)]
pub(super) struct Partitions {
    #[command(flatten)]
    with: WithConfig,
    /// Print JSON, one line per day.
    #[arg(long)]
    json: bool,
}

impl Partitions {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let config = self.with.load()?;
        let (store, now) = (
            node::open_store_for_command(&config)?,
            system_clock::SYSTEM.now(),
        );
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
                let state = DayState::of(&day, kept, now).in_words(day.is_archived);
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

fn as_line(table: &DayTable, state: &str) -> String {
    let rows = table.rows.map_or("?".to_owned(), |rows| rows.to_string());
    format!(
        "{:<26}  {}  {rows:>12}  {:>10}  {state}",
        table.table,
        table.day,
        size(table.bytes)
    )
}

fn as_json(table: &DayTable, state: &str) -> String {
    json!({
        "table": table.table, "day": table.day.to_string(), "from": table.day.start(),
        "to": table.day.next().start(), "rows": table.rows, "bytes": table.bytes,
        "archived": table.is_archived, "state": state,
    })
    .to_string()
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
