//! The days of the trail: made ahead of time or when a day's first row arrives, dropped when they are
//! older than they are kept.

use std::{collections::BTreeSet, time::Duration};

use domain::{Day, EventId, Timestamp};
use sqlx::{AssertSqlSafe, Connection, FromRow, PgConnection};
use uuid::Uuid;

use crate::{Error, Store, erasures};

/// Serializes the making of partitions between nodes ("wbpart" in ASCII).
const MAKING: i64 = 0x7762_7061_7274;
/// Held by the node that drops days ("wbdrop" in ASCII). Another lock than for making: a writer that
/// needs a day does not wait for one that is being dropped.
const DROPPING: i64 = 0x7762_6472_6f70;
/// How many days from today on there always are, so that no writer waits for a day to be made at
/// midnight and a node that cannot make any has a week to be noticed.
pub const DAYS_AHEAD: i64 = 7;
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

    /// The column that it is cut by.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::AuditEvents | Self::Deliveries => "id",
            Self::DeliveryAttempts => "delivery_id",
        }
    }

    /// The table of one day.
    fn partition(self, day: Day) -> String {
        format!("{}_d{}", self.name(), day.number())
    }

    /// The day that a table of ours is for; `None` if the name is not one we give.
    fn day_of(self, partition: &str) -> Option<Day> {
        let number = partition.strip_prefix(self.name())?.strip_prefix("_d")?;
        Some(Day::from_number(number.parse().ok()?))
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

/// One day of one table, as PostgreSQL holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayTable {
    pub day: Day,
    /// The table that holds it.
    pub table: String,
    /// As PostgreSQL estimates; `None` before it has looked.
    pub rows: Option<u64>,
    /// With its indexes.
    pub bytes: u64,
    /// Whether a copy of it is in the archive.
    pub is_archived: bool,
}

impl DayTable {
    /// Whether all of it is older than `kept`.
    pub fn is_overdue(&self, kept: Duration, now: Timestamp) -> bool {
        self.day.next().start().plus(kept) <= now
    }
}

/// The right to drop days, which one node has at a time; given back when this goes.
#[derive(Debug)]
pub struct DayDropper {
    connection: PgConnection,
}

/// How much a day has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayContent {
    pub events: u64,
    /// How many of its events were erased, wherever they were. As long as this is the same, so many events are the same ones: none
    /// went, so none came in its place.
    pub erased: u64,
}

/// What becomes of a day that was taken out and not dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    Drop,
    /// It may hold more than the archive has.
    PutBack,
}

impl Store {
    /// The days of the events, oldest first.
    pub async fn event_days(&self) -> Result<Vec<DayTable>, Error> {
        self.days(Table::AuditEvents).await
    }

    /// The days of a table, oldest first.
    pub async fn days(&self, table: Table) -> Result<Vec<DayTable>, Error> {
        let rows: Vec<DayDbRow> = sqlx::query_as(
            "SELECT relname::text AS name, reltuples::bigint AS rows,
                    -- NULL for a table that was dropped since the catalog was read.
                    COALESCE(pg_total_relation_size(pg_class.oid), 0) AS bytes,
                    $1 = 'audit_events' AND EXISTS (SELECT 1 FROM archived_days
                        WHERE day = DATE '1970-01-01' + substring(relname from '[0-9]+$')::int) AS is_archived
             FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
             WHERE inhparent = to_regclass($1) AND NOT inhdetachpending AND relname ~ '_d[0-9]+$'",
        )
        .bind(table.name())
        .fetch_all(&self.pool)
        .await?;
        let days = rows.into_iter().filter_map(|row| row.read(table));
        let mut days: Vec<DayTable> = days.collect();
        days.sort_by_key(|table| table.day);
        Ok(days)
    }

    /// Makes today and the days after it, of every table, where they are missing.
    pub async fn make_days_ahead(&self, now: Timestamp) -> Result<(), Error> {
        let today = Day::of(now).number();
        let mut connection = self.writer().await?.connection;
        for table in Table::ALL {
            for day in (today..=today + DAYS_AHEAD).map(Day::from_number) {
                let mut transaction = connection.begin().await?;
                make(&mut transaction, table, day).await?;
                transaction.commit().await?;
            }
        }
        Ok(())
    }

    /// The time by the database's clock.
    pub async fn now(&self) -> Result<Timestamp, Error> {
        let now = sqlx::query_scalar("SELECT now()")
            .fetch_one(&self.pool)
            .await?;
        Ok(crate::times::from_database(now))
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
    /// longer than we wait) or does not come (a crash) is taken by [`Self::see_to_leftovers`].
    pub async fn drop_day(
        &mut self,
        table: Table,
        day: Day,
        written_before: Timestamp,
    ) -> Result<bool, Error> {
        let partition = table.partition(day);
        if self.is_fresh(table, &partition, written_before).await? {
            return Ok(false);
        }
        self.take_out(table, &partition).await?;
        self.drop_table(&partition).await?;
        Ok(true)
    }

    /// Drops a day of events that had `archived` when it was written into a file; whether it did. Once it is taken out
    /// nobody can write to it: if it has more than the file, it is put back, to be archived again.
    pub async fn drop_archived_day(
        &mut self,
        day: Day,
        archived: DayContent,
    ) -> Result<bool, Error> {
        let (table, partition) = (Table::AuditEvents, Table::AuditEvents.partition(day));
        // Asked first, because a day that is out for a moment is missed by those who read and write it.
        if self.held(day, &partition).await? != archived {
            return Ok(false);
        }
        self.take_out(table, &partition).await?;
        if self.held(day, &partition).await? != archived {
            self.put_back(table, day).await?;
            return Ok(false);
        }
        self.drop_table(&partition).await?;
        Ok(true)
    }

    /// Sees to days that were taken out, or half taken out, and are still there. One that is to be kept
    /// (longer, since somebody took it out) is put back, whatever becomes of those before `kept_from`.
    pub async fn see_to_leftovers(
        &mut self,
        table: Table,
        kept_from: Timestamp,
        then: Leftover,
    ) -> Result<(), Error> {
        let parent = table.name();
        let leftovers: Vec<(i64, bool)> = sqlx::query_as(
            "SELECT substring(relname from '[0-9]+$')::bigint AS day, inhrelid IS NOT NULL FROM pg_class
             LEFT JOIN pg_inherits ON inhrelid = pg_class.oid
             WHERE relkind = 'r' AND relname ~ ('^' || $1 || '_d[0-9]+$')
               AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass($1))
               AND (inhrelid IS NULL OR inhdetachpending)",
        )
        .bind(parent)
        .fetch_all(&mut self.connection)
        .await?;
        for (day, is_pending) in leftovers {
            let day = Day::from_number(day);
            let partition = table.partition(day);
            if is_pending {
                self.execute(format!(
                    "ALTER TABLE {parent} DETACH PARTITION {partition} FINALIZE"
                ))
                .await?;
            }
            match then {
                Leftover::Drop if day < Day::of(kept_from) => self.drop_table(&partition).await?,
                Leftover::Drop | Leftover::PutBack => self.put_back(table, day).await?,
            }
        }
        Ok(())
    }

    /// Puts a day back that was taken out, without what was erased meanwhile: an erasure cannot delete what is out, and none
    /// comes between.
    async fn put_back(&mut self, table: Table, day: Day) -> Result<(), Error> {
        let mut transaction = self.connection.begin().await?;
        let has_events = table == Table::AuditEvents;
        if has_events {
            erasures::archive::lock(&mut transaction).await?;
        }
        attach(&mut transaction, table, day).await?;
        if has_events {
            erasures::again::delete_of_day(&mut transaction, day).await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    async fn held(&mut self, day: Day, partition: &str) -> Result<DayContent, Error> {
        let erased = erasures::archive::count_of_day(&mut self.connection, day).await?;
        let count = format!("SELECT count(*) FROM {partition}");
        let held: i64 = sqlx::query_scalar(AssertSqlSafe(count))
            .fetch_one(&mut self.connection)
            .await?;
        Ok(DayContent {
            events: held.unsigned_abs(),
            erased,
        })
    }

    async fn take_out(&mut self, table: Table, partition: &str) -> Result<(), Error> {
        let parent = table.name();
        self.execute(format!(
            "ALTER TABLE {parent} DETACH PARTITION {partition} CONCURRENTLY"
        ))
        .await
    }

    async fn drop_table(&mut self, partition: &str) -> Result<(), Error> {
        self.execute(format!("DROP TABLE {partition}")).await
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
    fn read(self, table: Table) -> Option<DayTable> {
        Some(DayTable {
            day: table.day_of(&self.name)?,
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
    known: &BTreeSet<Day>,
) -> Result<BTreeSet<Day>, Error> {
    let days: BTreeSet<Day> = keys
        .map(|key| Day::of(EventId::from_uuid(key).time()))
        .filter(|day| !known.contains(day))
        .collect();
    for day in &days {
        make(connection, table, *day).await?;
    }
    Ok(days)
}

/// The days that a table has, oldest first. Every page of a list asks this, so it asks less than
/// [`Store::days`]: PostgreSQL looks up sizes file by file.
pub(crate) async fn days(connection: &mut PgConnection, table: Table) -> Result<Vec<Day>, Error> {
    let names: Vec<String> = sqlx::query_scalar(
        "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = to_regclass($1)",
    )
    .bind(table.name())
    .fetch_all(connection)
    .await?;
    let days = names.iter().filter_map(|name| table.day_of(name));
    let mut days: Vec<Day> = days.collect();
    days.sort_unstable();
    Ok(days)
}

async fn make(connection: &mut PgConnection, table: Table, day: Day) -> Result<(), Error> {
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
    // Made apart and then attached: attaching blocks no reader or writer of the other days. The text is
    // made of our own names and numbers only.
    let make = format!("CREATE TABLE {partition} (LIKE {parent} INCLUDING ALL)");
    sqlx::query(AssertSqlSafe(make))
        .execute(&mut *connection)
        .await?;
    attach(connection, table, day).await
}

async fn attach(connection: &mut PgConnection, table: Table, day: Day) -> Result<(), Error> {
    let (parent, partition) = (table.name(), table.partition(day));
    let (from, to) = (day.first_id().uuid(), day.next().first_id().uuid());
    let attach = format!(
        "ALTER TABLE {parent} ATTACH PARTITION {partition} FOR VALUES FROM ('{from}') TO ('{to}')"
    );
    sqlx::query(AssertSqlSafe(attach))
        .execute(connection)
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
