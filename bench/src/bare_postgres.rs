//! The bare PostgreSQL: the same rows by COPY, in and out.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use futures::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// Every column of an event but the organization, in the order of the table.
const COLUMNS: &str = "id, received_at, event_type, agent_id, action, result, severity, session_id, trace_id, decision_id, body";
/// Rows of one COPY, each a transaction: what an indexer that is behind writes at once.
const ROWS_PER_COPY: u64 = 20_000;
/// The organization that copied rows belong to.
const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// A connection of its own to the server's database.
pub(crate) struct Bare(PgConnection);

/// Rows in COPY's binary form, each list of bytes one COPY.
pub(crate) struct Rows(Vec<Vec<Bytes>>);

impl Bare {
    pub(crate) async fn connect(url: &str) -> anyhow::Result<Self> {
        Ok(Self(PgConnection::connect(url).await?))
    }

    /// What autovacuum does sooner or later.
    pub(crate) async fn vacuum(&mut self) -> anyhow::Result<()> {
        sqlx::query("VACUUM (ANALYZE) audit_events")
            .execute(&mut self.0)
            .await?;
        Ok(())
    }

    /// The newest rows of an organization, as if they were nobody's.
    pub(crate) async fn rows_of(&mut self, org: &str, count: u64) -> anyhow::Result<Rows> {
        let mut copies = Vec::new();
        for copy in 0..count.div_ceil(ROWS_PER_COPY) {
            let sql = format!(
                "COPY (SELECT '{NOBODY}'::uuid, {COLUMNS} FROM audit_events WHERE org_id = '{org}' \
                 ORDER BY id DESC OFFSET {} LIMIT {ROWS_PER_COPY}) TO STDOUT (FORMAT binary)",
                copy * ROWS_PER_COPY
            );
            copies.push(self.0.copy_out_raw(&sql).await?.try_collect().await?);
        }
        Ok(Rows(copies))
    }

    /// Writes the rows and says how long that took; they are removed again.
    pub(crate) async fn copy_in(&mut self, rows: &Rows) -> anyhow::Result<Duration> {
        let started = Instant::now();
        for copy in &rows.0 {
            let sql = format!("COPY audit_events (org_id, {COLUMNS}) FROM STDIN (FORMAT binary)");
            let mut writing = self.0.copy_in_raw(&sql).await?;
            for bytes in copy {
                writing.send(&bytes[..]).await?;
            }
            writing.finish().await?;
        }
        let took = started.elapsed();
        let remove = format!("DELETE FROM audit_events WHERE org_id = '{NOBODY}'");
        sqlx::query(AssertSqlSafe(remove))
            .execute(&mut self.0)
            .await?;
        self.vacuum().await?;
        Ok(took)
    }

    /// Reads the bodies of an organization's events, newest first; how many bytes, and how long it took.
    pub(crate) async fn copy_out(&mut self, org: &str) -> anyhow::Result<(u64, Duration)> {
        let sql = format!(
            "COPY (SELECT body FROM audit_events WHERE org_id = '{org}' ORDER BY id DESC) TO STDOUT"
        );
        let started = Instant::now();
        let mut bytes = 0;
        let mut reading = self.0.copy_out_raw(&sql).await?;
        while let Some(some) = reading.try_next().await? {
            bytes += some.len() as u64;
        }
        drop(reading);
        Ok((bytes, started.elapsed()))
    }

    /// An organization by its name.
    pub(crate) async fn org(&mut self, name: &str) -> anyhow::Result<String> {
        sqlx::query_scalar("SELECT id::text FROM organisations WHERE name = $1")
            .bind(name)
            .fetch_optional(&mut self.0)
            .await?
            .with_context(|| format!("the organization {name}"))
    }
}
