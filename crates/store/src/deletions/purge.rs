//! Deletes what there is of an organization, a slice at a time: no statement takes long or locks much.

use std::time::Duration;

use domain::{OrgId, RuleId, Timestamp, account::KeyHash};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use uuid::Uuid;

use crate::{
    Error, Store,
    outbox::{self, OutboxEntry},
    partitions::{self, Table},
    times::to_database,
};

/// Held by the process that deletes organizations ("wbgone" in ASCII).
const DELETING: i64 = 0x7762_676f_6e65;
/// How many rows one statement deletes.
const SLICE_ROWS_MAX: i64 = 5_000;
/// How many slices an organization has deleted before it is the others' turn: a million rows, in about a minute.
const TURN_SLICES_MAX: u32 = 200;
/// How many organizations one round takes on; the rest is for the next.
const ROUND_MAX: i64 = 100;
/// How long after the organization's row went everything is looked at for the last time. A node that the journal does
/// not reach trusts an API key for 15 minutes more, and a request, a transaction that fills tables, or a file of an export
/// that was on its way takes some after that.
const LATE: Duration = Duration::from_mins(20);

/// Who could still come in. Whoever may invite goes after the invitations: no link brings somebody back.
const PEOPLE: [&str; 4] = ["invitations", "sessions", "password_resets", "users"];
/// Everything else with an `org_id` that nobody has to be told of and that is not cut into days. The counts of
/// deliveries go before the deliveries that they are held against, and files before the exports that they are of.
const TABLES: [&str; 23] = [
    "delivery_counts",
    "rule_counts",
    "event_counts",
    "integrity_findings",
    "alert_rule_versions",
    "policy_versions",
    "policy_changes",
    "signing_secret_changes",
    "account_changes",
    "endpoint_notices",
    "endpoints",
    "recoveries",
    "export_files",
    "exports",
    "views",
    "transparency_outbox",
    "transparency_bundles",
    "transparency_keys",
    "transparency_witnesses",
    "transparency_logs",
    "erasures",
    "erased_events",
    "organizations_with_erasures",
];

/// An organization that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub org: OrgId,
    /// Whether it has been gone for so long that nobody can write anything for it: what this look deletes stays gone.
    pub is_last_look: bool,
}

/// What became of an organization's rows in one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emptied {
    /// How many were deleted.
    pub rows: u64,
    /// Whether none is left.
    pub is_all: bool,
}

/// How much of a turn is left, and what was deleted in it.
struct Slices {
    slices_left: u32,
    rows: u64,
}

impl Slices {
    fn of(slices_left: u32) -> Self {
        Self {
            slices_left,
            rows: 0,
        }
    }

    /// To look and find nothing costs little, and is no slice.
    fn note(&mut self, rows: u64) {
        self.slices_left -= u32::from(rows > 0);
        self.rows += rows;
    }

    fn is_over(&self) -> bool {
        self.slices_left == 0
    }
}

/// The right to delete organizations, which one process has at a time; given back when this goes. All of it happens on
/// one connection: whoever loses that has lost the right and stops.
#[derive(Debug)]
pub struct Deleter {
    connection: PgConnection,
}

impl Store {
    /// Whether there is anything to delete; asked often, so it asks little.
    pub async fn has_deletions(&self, now: Timestamp) -> Result<bool, Error> {
        Ok(sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM organisations WHERE deletes_at <= $1)
                 OR EXISTS (SELECT 1 FROM tombstones
                            WHERE done_at IS NULL AND (gone_at IS NULL OR gone_at <= $2))",
        )
        .bind(to_database(now))
        .bind(to_database(now.minus(LATE)))
        .fetch_one(&self.pool)
        .await?)
    }

    /// `None` while another process deletes.
    pub async fn deleter(&self) -> Result<Option<Deleter>, Error> {
        // One whose host is gone is noticed, so that it does not keep the right.
        let mut connection = self.writer().await?.connection;
        let ours: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(DELETING)
            .fetch_one(&mut connection)
            .await?;
        if !ours {
            connection.close().await?;
            return Ok(None);
        }
        Ok(Some(Deleter { connection }))
    }
}

impl Deleter {
    /// Gives those whose time has come a tombstone. Whoever cancels holds the row of the organization and is not waited
    /// for: it is looked again.
    pub async fn begin(&mut self, now: Timestamp) -> Result<(), Error> {
        sqlx::query(
            "WITH due AS (
                 SELECT id FROM organisations WHERE deletes_at <= $1
                    AND NOT EXISTS (SELECT 1 FROM tombstones WHERE org_id = organisations.id)
                 ORDER BY deletes_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
             INSERT INTO tombstones (org_id, began_at) SELECT id, $1 FROM due ON CONFLICT DO NOTHING",
        )
        .bind(to_database(now))
        .bind(ROUND_MAX)
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    /// Those that are not done, oldest first: the ones that are still there, and the ones whose last look has come.
    pub async fn unfinished(&mut self, now: Timestamp) -> Result<Vec<Unfinished>, Error> {
        let rows: Vec<(Uuid, bool)> = sqlx::query_as(
            "SELECT org_id, gone_at IS NOT NULL FROM tombstones
             WHERE done_at IS NULL AND (gone_at IS NULL OR gone_at <= $1)
             ORDER BY began_at LIMIT $2",
        )
        .bind(to_database(now.minus(LATE)))
        .bind(ROUND_MAX)
        .fetch_all(&mut self.connection)
        .await?;
        let unfinished = |(org, is_last_look): (Uuid, bool)| Unfinished {
            org: OrgId::from_uuid(org),
            is_last_look,
        };
        Ok(rows.into_iter().map(unfinished).collect())
    }

    /// Deletes the organization's people, with their sessions and whatever link would let somebody in.
    pub async fn delete_people(&mut self, org: OrgId) -> Result<u64, Error> {
        // However many they are: nobody may stay until the next turn.
        let mut turn = Slices::of(u32::MAX);
        for table in PEOPLE {
            self.delete_from(table, org, &mut turn).await?;
        }
        Ok(turn.rows)
    }

    /// Deletes its API keys, and has everybody told that they are gone.
    pub async fn delete_keys(
        &mut self,
        org: OrgId,
        gone: impl Fn(&KeyHash) -> OutboxEntry,
    ) -> Result<(), Error> {
        loop {
            let mut transaction = self.connection.begin().await?;
            let hashes: Vec<String> = sqlx::query_scalar(
                "DELETE FROM api_keys WHERE ctid = ANY (ARRAY (
                     SELECT ctid FROM api_keys WHERE org_id = $1 LIMIT $2)) RETURNING hash",
            )
            .bind(org.uuid())
            .bind(SLICE_ROWS_MAX)
            .fetch_all(&mut *transaction)
            .await?;
            if hashes.is_empty() {
                return Ok(());
            }
            let entries = hashes.iter().map(|hash| gone(&KeyHash::from_text(hash)));
            let entries = entries.collect();
            outbox::enqueue_all(&mut transaction, entries).await?;
            transaction.commit().await?;
        }
    }

    /// Deletes its alert rules, and has everybody told: what is on its way to their endpoints is not sent any more.
    pub async fn delete_rules(
        &mut self,
        org: OrgId,
        gone: impl Fn(RuleId) -> OutboxEntry,
    ) -> Result<(), Error> {
        loop {
            let mut transaction = self.connection.begin().await?;
            let ids: Vec<Uuid> = sqlx::query_scalar(
                "DELETE FROM alert_rules WHERE ctid = ANY (ARRAY (
                     SELECT ctid FROM alert_rules WHERE org_id = $1 LIMIT $2)) RETURNING id",
            )
            .bind(org.uuid())
            .bind(SLICE_ROWS_MAX)
            .fetch_all(&mut *transaction)
            .await?;
            if ids.is_empty() {
                return Ok(());
            }
            let entries = ids.into_iter().map(|id| gone(RuleId::from_uuid(id)));
            let entries = entries.collect();
            outbox::enqueue_all(&mut transaction, entries).await?;
            transaction.commit().await?;
        }
    }

    /// Deletes which policies are in force, and has everybody told.
    pub async fn delete_guard(&mut self, org: OrgId, gone: &OutboxEntry) -> Result<(), Error> {
        let statement = "DELETE FROM policy_guards WHERE org_id = $1";
        self.delete_and_tell(statement, org, gone).await
    }

    /// Deletes its signing secrets, and has everybody told. They are few.
    pub async fn delete_secrets(&mut self, org: OrgId, gone: &OutboxEntry) -> Result<(), Error> {
        let statement = "DELETE FROM signing_secrets WHERE org_id = $1";
        self.delete_and_tell(statement, org, gone).await
    }

    /// Nobody without an account reads its transparency log any more.
    pub async fn withdraw_log(&mut self, org: OrgId) -> Result<(), Error> {
        sqlx::query("UPDATE transparency_logs SET is_public = false WHERE org_id = $1")
            .bind(org.uuid())
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    /// Deletes everything else, as far as one turn goes.
    pub async fn delete_rows(&mut self, org: OrgId) -> Result<Emptied, Error> {
        let mut turn = Slices::of(TURN_SLICES_MAX);
        for table in TABLES {
            self.delete_from(table, org, &mut turn).await?;
        }
        for table in Table::ALL {
            self.delete_days(table, org, &mut turn).await?;
        }
        Ok(Emptied {
            rows: turn.rows,
            is_all: !turn.is_over(),
        })
    }

    /// Deletes the organization itself, and notes when; `false` if something that refers to it was made meanwhile.
    pub async fn delete_organization(&mut self, org: OrgId, now: Timestamp) -> Result<bool, Error> {
        let mut transaction = self.connection.begin().await?;
        let deleted = sqlx::query("DELETE FROM organisations WHERE id = $1")
            .bind(org.uuid())
            .execute(&mut *transaction)
            .await
            .map_err(Error::from);
        match deleted {
            Ok(_) => {}
            Err(error) if error.refuses_data() => return Ok(false),
            Err(error) => return Err(error),
        }
        sqlx::query("UPDATE tombstones SET gone_at = coalesce(gone_at, $2) WHERE org_id = $1")
            .bind(org.uuid())
            .bind(to_database(now))
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// It was looked at for the last time.
    pub async fn finish(&mut self, org: OrgId, now: Timestamp) -> Result<(), Error> {
        sqlx::query("UPDATE tombstones SET done_at = $2 WHERE org_id = $1")
            .bind(org.uuid())
            .bind(to_database(now))
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    async fn delete_and_tell(
        &mut self,
        statement: &'static str,
        org: OrgId,
        gone: &OutboxEntry,
    ) -> Result<(), Error> {
        let mut transaction = self.connection.begin().await?;
        let deleted = sqlx::query(statement)
            .bind(org.uuid())
            .execute(&mut *transaction)
            .await?;
        if deleted.rows_affected() > 0 {
            outbox::enqueue(&mut transaction, gone).await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Deletes the rows of a table that has an index which begins with the organization.
    async fn delete_from(
        &mut self,
        table: &'static str,
        org: OrgId,
        turn: &mut Slices,
    ) -> Result<(), Error> {
        // The text is made of our own names only.
        let statement = format!(
            "DELETE FROM {table} WHERE ctid = ANY (ARRAY (
                 SELECT ctid FROM {table} WHERE org_id = $1 LIMIT $2))"
        );
        while !turn.is_over() {
            let slice = sqlx::query(AssertSqlSafe(statement.clone()))
                .bind(org.uuid())
                .bind(SLICE_ROWS_MAX)
                .execute(&mut self.connection)
                .await?;
            turn.note(slice.rows_affected());
            if slice.rows_affected() == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Deletes the rows of a table that is cut into days, one day after the other, by the index that the lists use.
    async fn delete_days(
        &mut self,
        table: Table,
        org: OrgId,
        turn: &mut Slices,
    ) -> Result<(), Error> {
        let (name, key) = (table.name(), table.key());
        // A slice ends with the last of so many rows, and the next begins there: what was deleted stays in the index for
        // a while, and would have to be passed over again by each slice. The texts are made of our own names only.
        let find = format!(
            "SELECT {key} FROM {name} WHERE org_id = $1 AND {key} >= $2 AND {key} < $3
             ORDER BY {key} OFFSET $4 LIMIT 1"
        );
        let delete = format!(
            "DELETE FROM {name} WHERE org_id = $1 AND {key} >= $2 AND {key} < $3 AND {key} <= $4"
        );
        for day in partitions::days(&mut self.connection, table).await? {
            let (mut from, below) = (day.first_id().uuid(), day.next().first_id().uuid());
            while !turn.is_over() {
                let last: Option<Uuid> = sqlx::query_scalar(AssertSqlSafe(find.clone()))
                    .bind(org.uuid())
                    .bind(from)
                    .bind(below)
                    .bind(SLICE_ROWS_MAX - 1)
                    .fetch_optional(&mut self.connection)
                    .await?;
                let slice = sqlx::query(AssertSqlSafe(delete.clone()))
                    .bind(org.uuid())
                    .bind(from)
                    .bind(below)
                    .bind(last.unwrap_or(below))
                    .execute(&mut self.connection)
                    .await?;
                turn.note(slice.rows_affected());
                let Some(last) = last else { break };
                from = last;
            }
        }
        Ok(())
    }
}
