//! The days of the trail: made when the first row of a day arrives.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use crate::Error;

const DAY_MILLIS: u128 = 24 * 3600 * 1000;
/// Serialises the making of partitions between nodes ("wbpart" in ASCII).
const LOCK: i64 = 0x7762_7061_7274;

/// A table that is cut into days by the time in its uuid-v7 key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Table {
    AuditEvents,
    Deliveries,
    DeliveryAttempts,
}

impl Table {
    fn name(self) -> &'static str {
        match self {
            Self::AuditEvents => "audit_events",
            Self::Deliveries => "deliveries",
            Self::DeliveryAttempts => "delivery_attempts",
        }
    }
}

/// Makes the days that these keys fall into, where they are missing, and returns those that were not
/// among the `known`: a writer remembers them once its transaction is committed, so that the usual
/// case asks nothing.
pub(crate) async fn ensure(
    connection: &mut PgConnection,
    table: Table,
    keys: impl Iterator<Item = Uuid>,
    known: &BTreeSet<u128>,
) -> Result<BTreeSet<u128>, Error> {
    let days: BTreeSet<u128> = keys
        .map(day_of)
        .filter(|day| !known.contains(day))
        .collect();
    for day in &days {
        make(connection, table, *day).await?;
    }
    Ok(days)
}

/// The days that a table has, oldest first.
pub(crate) async fn days(connection: &mut PgConnection, table: Table) -> Result<Vec<u128>, Error> {
    let parent = table.name();
    let names: Vec<String> = sqlx::query_scalar(
        "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = to_regclass($1)",
    )
    .bind(parent)
    .fetch_all(connection)
    .await?;
    let prefix = format!("{parent}_d");
    let day = |name: &String| name.strip_prefix(&prefix)?.parse().ok();
    let days: BTreeSet<u128> = names.iter().filter_map(day).collect();
    Ok(days.into_iter().collect())
}

async fn make(connection: &mut PgConnection, table: Table, day: u128) -> Result<(), Error> {
    let parent = table.name();
    let partition = format!("{parent}_d{day}");
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut *connection)
        .await?;
    let exists: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
        .bind(&partition)
        .fetch_one(&mut *connection)
        .await?;
    if exists {
        return Ok(());
    }
    let (from, to) = (first_key(day), first_key(day + 1));
    // Made apart and then attached: attaching blocks no reader or writer of the other days.
    let make = format!("CREATE TABLE {partition} (LIKE {parent} INCLUDING ALL)");
    let attach = format!(
        "ALTER TABLE {parent} ATTACH PARTITION {partition} FOR VALUES FROM ('{from}') TO ('{to}')"
    );
    // Both texts are made of our own names and numbers only.
    sqlx::query(AssertSqlSafe(make))
        .execute(&mut *connection)
        .await?;
    sqlx::query(AssertSqlSafe(attach))
        .execute(&mut *connection)
        .await?;
    Ok(())
}

/// Days since 1970 of a time-ordered key.
fn day_of(key: Uuid) -> u128 {
    (key.as_u128() >> 80) / DAY_MILLIS
}

/// The smallest key of a day.
pub(crate) fn first_key(day: u128) -> Uuid {
    Uuid::from_u128((day * DAY_MILLIS) << 80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_lies_in_its_day() {
        let key = Uuid::from_u128(1_763_200_000_123 << 80 | 0x7abc << 64 | 0x2a);
        let day = day_of(key);
        assert!(first_key(day) <= key && key < first_key(day + 1));
    }
}
