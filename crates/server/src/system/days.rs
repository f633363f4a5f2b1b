//! The days that events, deliveries and attempts are kept in, and what each waits for.

use std::time::Duration;

use domain::{Day, Timestamp};
use serde::Serialize;
use store::partitions::{DayTable, Table};
use utoipa::ToSchema;

use crate::planes::ControlPlane;

/// One day of a table, as `watchbell partitions` shows it.
#[derive(Serialize, ToSchema)]
pub struct DayBody {
    #[schema(example = "2026-11-15")]
    day: String,
    /// The table that holds it.
    #[schema(example = "audit_events_d20771")]
    table: String,
    /// As estimated by PostgreSQL; `null` until it has an estimate.
    #[schema(required)]
    rows: Option<u64>,
    /// Including indexes.
    bytes: u64,
    archived: bool,
    /// `ahead`, `current`, `kept until ...` or `overdue`.
    #[schema(example = "kept until 2027-05-17")]
    state: String,
}

pub(super) async fn of(plane: &ControlPlane) -> Result<Vec<DayBody>, store::Error> {
    let now = plane.clock.now();
    let mut days = Vec::new();
    for table in Table::ALL {
        let kept = match table {
            Table::AuditEvents => plane.retention,
            Table::Deliveries | Table::DeliveryAttempts => plane.delivery_retention,
        };
        days.extend(
            plane
                .store
                .days(table)
                .await?
                .into_iter()
                .map(|day| DayBody {
                    day: day.day.to_string(),
                    state: state(&day, kept, now),
                    table: day.table,
                    rows: day.rows,
                    bytes: day.bytes,
                    archived: day.is_archived,
                }),
        );
    }
    Ok(days)
}

/// What a day is waiting for.
pub fn state(table: &DayTable, kept: Duration, now: Timestamp) -> String {
    let archived = if table.is_archived { ", archived" } else { "" };
    let ends = table.day.next().start();
    if table.day.start() > now {
        "ahead".to_owned()
    } else if ends > now {
        "current".to_owned()
    } else if table.is_overdue(kept, now) {
        format!("overdue{archived}")
    } else {
        format!("kept until {}{archived}", Day::of(ends.plus(kept)))
    }
}
