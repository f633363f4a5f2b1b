//! The days of the trail: made ahead of time or when a day's first row arrives, dropped when they are
//! older than they are kept.

use std::{collections::BTreeSet, time::Duration};

use domain::Timestamp;
use sqlx::{AssertSqlSafe, Connection, FromRow, PgConnection};
use uuid::Uuid;

use crate::{Error, Store};

const DAY_MILLIS: u128 = 24 * 3600 * 1000;
/// Serialises the making of partitions between nodes ("wbpart" in ASCII).
const MAKING: i64 = 0x7762_7061_7274;
/// Held by the node that drops days ("wbdrop" in ASCII). Another lock than for making: a writer that
/// needs a day does not wait for one that is being dropped.
const DROPPING: i64 = 0x7762_6472_6f70;
/// How many days from today on there always are, so that no writer waits for a day to be made at
/// midnight and a node that cannot make any has a week to be noticed.
pub const DAYS_AHEAD: u64 = 7;
/// How long dropping waits for those who use a table. Readers of the day that goes queue behind it for
/// that long; everybody else goes on.
const DROP_PATIENCE: &str = "SET lock_timeout = '10s'";

/// A table that is cut into days by the time in its uuid-v7 key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    AuditEvents,
    Deliveries,
    DeliveryAttempts,
}

impl Table {
    pub const ALL: [Self; 3] = [Self::AuditEvents, Self::Deliveries, Self::DeliveryAttempts];

    pub fn name(self) -> &'static str {
        match self {
            Self::AuditEvents => "audit_events",
            Self::Deliveries => "deliveries",
            Self::DeliveryAttempts => "delivery_attempts",
        }
    }

    /// The table of one day.
    fn partition(self, day: u128) -> String {
        format!("{}_d{day}", self.name())
    }

    /// Which row's age counts beside the day's: a delivery is kept in its event's day, and an event may
    /// be told of long after it occurred.
    fn written_at(self) -> Option<&'static str> {
        match self {
            Self::AuditEvents => None,
            Self::Deliveries => Some("matched_at"),
            Self::DeliveryAttempts => Some("finished_at"),
        }
    }
}

/// One day of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Day {
    /// The table that holds it.
    pub table: String,
    /// When it begins, and when the next one does.
    pub from: Timestamp,
    pub to: Timestamp,
    /// As PostgreSQL estimates; `None` before it has looked.
    pub rows: Option<u64>,
    /// With its indexes.
    pub bytes: u64,
    /// Whether a copy of it is in the archive.
    pub is_archived: bool,
}

impl Day {
    /// Whether all of it is older than `kept`.
    pub fn is_overdue(&self, kept: Duration, now: Timestamp) -> bool {
        self.to.plus(kept) <= now
    }
}

/// The right to drop days, which one node has at a time; given back when this goes.
#[derive(Debug)]
pub struct DayDropper {
    connection: PgConnection,
}

impl Store {
    /// The days of the events, oldest first.
    pub async fn event_days(&self) -> Result<Vec<Day>, Error> {
        self.days(Table::AuditEvents).await
    }

    /// The days of a table, oldest first.
    pub async fn days(&self, table: Table) -> Result<Vec<Day>, Error> {
        let rows: Vec<DayDbRow> = sqlx::query_as(
            "SELECT relname::text AS name, reltuples::bigint AS rows,
                    -- NULL for a table that was dropped since the catalogue was read.
                    COALESCE(pg_total_relation_size(pg_class.oid), 0) AS bytes,
                    $1 = 'audit_events' AND EXISTS (SELECT 1 FROM archived_days
                        WHERE day = DATE '1970-01-01' + substring(relname from '[0-9]+$')::int) AS is_archived
             FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
             WHERE inhparent = to_regclass($1) AND NOT inhdetachpending AND relname ~ '_d[0-9]+$'",
        )
        .bind(table.name())
        .fetch_all(&self.pool)
        .await?;
        let mut days: Vec<Day> = rows.into_iter().filter_map(DayDbRow::read).collect();
        days.sort_by_key(|day| day.from);
        Ok(days)
    }

    /// Makes today and the days after it, of every table, where they are missing.
    pub async fn make_days_ahead(&self, now: Timestamp) -> Result<(), Error> {
        let today = number(now);
        let mut connection = self.writer().await?.connection;
        for table in Table::ALL {
            for day in today..=today + u128::from(DAYS_AHEAD) {
                let mut transaction = connection.begin().await?;
                make(&mut transaction, table, day).await?;
                transaction.commit().await?;
            }
        }
        Ok(())
    }

    /// `None` while another node drops days.
    pub async fn day_dropper(&self) -> Result<Option<DayDropper>, Error> {
        let mut connection = self.connect().await?;
        let ours: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(DROPPING)
            .fetch_one(&mut connection)
            .await?;
        sqlx::query(DROP_PATIENCE).execute(&mut connection).await?;
        Ok(ours.then_some(DayDropper { connection }))
    }
}

impl DayDropper {
    /// Drops a day; whether it did. A day in which something was written after `written_before` stays.
    ///
    /// Taking a day out concurrently waits for those who use the table and lets them go on; then it is a
    /// table that nobody knows, and dropping it disturbs nobody. A step that fails (somebody reads for
    /// longer than we wait) or does not come (a crash) is taken by the next call.
    pub async fn drop_day(
        &mut self,
        table: Table,
        day: &Day,
        written_before: Timestamp,
    ) -> Result<bool, Error> {
        let (parent, partition) = (table.name(), table.partition(number(day.from)));
        if self.is_fresh(table, &partition, written_before).await? {
            return Ok(false);
        }
        self.execute(format!(
            "ALTER TABLE {parent} DETACH PARTITION {partition} CONCURRENTLY"
        ))
        .await?;
        self.execute(format!("DROP TABLE {partition}")).await?;
        Ok(true)
    }

    /// Drops days before `kept_from` that were taken out, or half taken out, and are still there.
    pub async fn drop_leftovers(
        &mut self,
        table: Table,
        kept_from: Timestamp,
    ) -> Result<(), Error> {
        let parent = table.name();
        let leftovers: Vec<(String, bool)> = sqlx::query_as(
            "SELECT relname::text, inhrelid IS NOT NULL FROM pg_class
             LEFT JOIN pg_inherits ON inhrelid = pg_class.oid
             WHERE relkind = 'r' AND relname ~ ('^' || $1 || '_d[0-9]+$')
               AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass($1))
               AND (inhrelid IS NULL OR inhdetachpending)
               AND substring(relname from '[0-9]+$')::bigint < $2",
        )
        .bind(parent)
        .bind(i64::try_from(number(kept_from)).unwrap_or(i64::MAX))
        .fetch_all(&mut self.connection)
        .await?;
        for (partition, is_pending) in leftovers {
            if is_pending {
                self.execute(format!(
                    "ALTER TABLE {parent} DETACH PARTITION {partition} FINALIZE"
                ))
                .await?;
            }
            self.execute(format!("DROP TABLE {partition}")).await?;
        }
        Ok(())
    }

    async fn is_fresh(
        &mut self,
        table: Table,
        partition: &str,
        written_before: Timestamp,
    ) -> Result<bool, Error> {
        let Some(column) = table.written_at() else {
            return Ok(false);
        };
        // The text is made of our own names only.
        let question = format!("SELECT EXISTS (SELECT 1 FROM {partition} WHERE {column} >= $1)");
        Ok(sqlx::query_scalar(AssertSqlSafe(question))
            .bind(crate::times::to_database(written_before))
            .fetch_one(&mut self.connection)
            .await?)
    }

    /// Runs a statement that is made of our own names and numbers only.
    async fn execute(&mut self, statement: String) -> Result<(), Error> {
        sqlx::raw_sql(AssertSqlSafe(statement))
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }
}

#[derive(FromRow)]
struct DayDbRow {
    name: String,
    rows: i64,
    bytes: i64,
    is_archived: bool,
}

impl DayDbRow {
    /// `None` if the name is not one we give.
    fn read(self) -> Option<Day> {
        let (_, number) = self.name.rsplit_once("_d")?;
        let begins = number.parse::<i64>().ok()?.checked_mul(24 * 3600 * 1000)?;
        let from = Timestamp::from_unix_millis(begins);
        Some(Day {
            from,
            to: from.plus(Duration::from_secs(24 * 3600)),
            rows: u64::try_from(self.rows).ok(),
            bytes: u64::try_from(self.bytes).unwrap_or(0),
            is_archived: self.is_archived,
            table: self.name,
        })
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
    let (parent, partition) = (table.name(), table.partition(day));
    // Asked first without the lock: the usual case waits for nobody.
    if exists(connection, &partition).await? {
        return Ok(());
    }
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(MAKING)
        .execute(&mut *connection)
        .await?;
    if exists(connection, &partition).await? {
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

/// One that is being dropped is not there; making it fails and is tried again until it is gone.
async fn exists(connection: &mut PgConnection, partition: &str) -> Result<bool, Error> {
    Ok(sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM pg_inherits
                        WHERE inhrelid = to_regclass($1) AND NOT inhdetachpending)",
    )
    .bind(partition)
    .fetch_one(connection)
    .await?)
}

/// Days since 1970 of a time-ordered key.
fn day_of(key: Uuid) -> u128 {
    (key.as_u128() >> 80) / DAY_MILLIS
}

/// Days since 1970.
fn number(from: Timestamp) -> u128 {
    u128::try_from(from.unix_millis()).unwrap_or(0) / DAY_MILLIS
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
