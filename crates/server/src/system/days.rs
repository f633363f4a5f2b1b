//! The days that events, deliveries and attempts are kept in, and what each waits for.

use std::time::Duration;

use domain::{Day, Timestamp};
use serde::Serialize;
use store::partitions::{DayTable, Table};
use utoipa::ToSchema;

use crate::{edge::enums::DayStateWord, planes::ControlPlane};

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
    /// `ahead`: it has not begun. `kept`: it is over, and is dropped on `kept_until`. `overdue`: it should be gone.
    #[schema(value_type = DayStateWord, example = "kept")]
    state: &'static str,
    /// Absent unless the state is `kept`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-05-17")]
    kept_until: Option<String>,
}

pub(super) async fn of(plane: &ControlPlane) -> Result<Vec<DayBody>, store::Error> {
    let now = plane.clock.now();
    let mut days = Vec::new();
    for table in Table::ALL {
        let kept = match table {
            Table::AuditEvents => plane.retention,
            Table::Deliveries | Table::DeliveryAttempts => plane.delivery_retention,
        };
        days.extend(plane.store.days(table).await?.into_iter().map(|day| {
            let state = DayState::of(&day, kept, now);
            DayBody {
                day: day.day.to_string(),
                state: state.as_str(),
                kept_until: state.kept_until(),
                table: day.table,
                rows: day.rows,
                bytes: day.bytes,
                archived: day.is_archived,
            }
        }));
    }
    Ok(days)
}

/// What a day is waiting for.
#[derive(Clone, Copy, Debug)]
pub enum DayState {
    Ahead,
    Current,
    KeptUntil(Day),
    Overdue,
}

impl DayState {
    pub fn of(table: &DayTable, kept: Duration, now: Timestamp) -> Self {
        let ends = table.day.next().start();
        if table.day.start() > now {
            Self::Ahead
        } else if ends > now {
            Self::Current
        } else if table.is_overdue(kept, now) {
            Self::Overdue
        } else {
            Self::KeptUntil(Day::of(ends.plus(kept)))
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ahead => "ahead",
            Self::Current => "current",
            Self::KeptUntil(_) => "kept",
            Self::Overdue => "overdue",
        }
    }

    fn kept_until(self) -> Option<String> {
        match self {
            Self::KeptUntil(day) => Some(day.to_string()),
            _ => None,
        }
    }

    /// As people read it.
    pub fn in_words(self, is_archived: bool) -> String {
        let archived = if is_archived { ", archived" } else { "" };
        match self {
            Self::Ahead | Self::Current => self.as_str().to_owned(),
            Self::KeptUntil(day) => format!("kept until {day}{archived}"),
            Self::Overdue => format!("overdue{archived}"),
        }
    }
}
