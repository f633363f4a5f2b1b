//! A writer's own connection, and the lease by which normally one process writes a log.
//!
//! The lease is a courtesy that saves the second process its work. Nothing is wrong without it: the
//! position ([`crate::watermark`]) decides what is applied. It belongs to the connection, so it is free
//! the moment its holder is gone, and PostgreSQL hands it to whoever waits.

use std::time::Duration;

use sqlx::{ConnectOptions as _, Connection, PgConnection, Postgres, Transaction};

use crate::{
    Error, Store, connect, redrive,
    watermark::{self, Applied, Source, Span},
};

/// Our part of the advisory locks ("wbls" in ASCII); the other half is the log's name.
const LOCKS: i32 = 0x7762_6c73;
/// A writer that hangs between two statements must not hold its rows for ever; a live one takes
/// milliseconds there. One whose host is gone is noticed after 25 s, also within a statement.
const HOLDS_NO_ROWS_FOR_EVER: &str = "SET idle_in_transaction_session_timeout = '30s';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3";

/// A connection of one writer's own.
#[derive(Debug)]
pub struct Writer {
    pub(crate) connection: PgConnection,
}

/// What a writer's transaction is for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'s> {
    /// A span of a log: what is written and the position move together, or neither.
    Apply(&'s Source, Span),
    /// A dead letter, by its place in the log: what is written and that it was redriven, or neither.
    Redrive(&'s str),
    /// Only to see whether it would be written.
    Rehearse,
}

impl Purpose<'_> {
    /// Makes it ours to write: moves the position, or notes that the letter was redriven. Otherwise somebody did
    /// before: what that comes to.
    pub(crate) async fn claim(
        self,
        transaction: &mut Transaction<'_, Postgres>,
    ) -> Result<Option<Applied>, Error> {
        match self {
            Self::Apply(source, span) => {
                let applied = watermark::claim(transaction, source, span).await?;
                Ok((applied != Applied::Done).then_some(applied))
            }
            Self::Redrive(place) => {
                let is_ours = redrive::claim(transaction, place).await?;
                Ok((!is_ours).then_some(Applied::Done))
            }
            Self::Rehearse => Ok(None),
        }
    }

    /// Ends the transaction; what was written stays, unless this was a rehearsal.
    pub(crate) async fn end(self, transaction: Transaction<'_, Postgres>) -> Result<(), Error> {
        match self {
            Self::Apply(..) | Self::Redrive(_) => transaction.commit().await?,
            Self::Rehearse => transaction.rollback().await?,
        }
        Ok(())
    }
}

impl Store {
    pub(crate) async fn writer(&self) -> Result<Writer, Error> {
        // Waiting for the lease is no slow statement, of which the client would warn.
        let options = (*self.pool.connect_options()).clone();
        let mut connection = connect(&options.disable_statement_logging()).await?;
        sqlx::raw_sql(HOLDS_NO_ROWS_FOR_EVER)
            .execute(&mut connection)
            .await?;
        Ok(Writer { connection })
    }
}

impl Writer {
    /// Waits for the lease on a log, at most `patience`; whether it is ours then.
    pub async fn take_lease(&mut self, stream: &str, patience: Duration) -> Result<bool, Error> {
        let mut transaction = self.connection.begin().await?;
        sqlx::query("SELECT set_config('lock_timeout', $1, true)")
            .bind(format!("{}ms", patience.as_millis()))
            .execute(&mut *transaction)
            .await?;
        let locked = sqlx::query("SELECT pg_advisory_lock($1, hashtext($2))")
            .bind(LOCKS)
            .bind(stream)
            .execute(&mut *transaction)
            .await;
        match locked {
            Ok(_) => {
                transaction.commit().await?;
                Ok(true)
            }
            Err(error) if is_lock_timeout(&error) => {
                transaction.rollback().await?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the connection of the lease's holder if PostgreSQL waits for it; whether it did. A holder that
    /// hangs in the midst of a COPY would keep the rows that it changed, the position too, for ever. One
    /// that PostgreSQL works for does not hang, however slow it is.
    pub async fn end_hanging_holder(&mut self, stream: &str) -> Result<bool, Error> {
        let ended: Vec<bool> = sqlx::query_scalar(
            "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
             WHERE locktype = 'advisory' AND granted AND classid = $1::int::oid
               AND objid = hashtext($2)::oid AND database = datid
               AND datname = current_database() AND wait_event_type = 'Client'",
        )
        .bind(LOCKS)
        .bind(stream)
        .fetch_all(&mut self.connection)
        .await?;
        Ok(ended.contains(&true))
    }

    /// Hands the lease to whoever waits for it; whether it is still ours, because nobody does.
    pub async fn offer_lease(&mut self, stream: &str) -> Result<bool, Error> {
        sqlx::query("SELECT pg_advisory_unlock($1, hashtext($2))")
            .bind(LOCKS)
            .bind(stream)
            .execute(&mut self.connection)
            .await?;
        let ours = sqlx::query_scalar("SELECT pg_try_advisory_lock($1, hashtext($2))")
            .bind(LOCKS)
            .bind(stream)
            .fetch_one(&mut self.connection)
            .await?;
        Ok(ours)
    }
}

fn is_lock_timeout(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code)
        .is_some_and(|code| code == "55P03")
}
