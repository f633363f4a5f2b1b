//! The store: the control plane's truth and the queryable copy of the journal; the only crate that
//! speaks to PostgreSQL and the only place with SQL.
//!
//! Every query names the organization, but for those that find out which one it is: by an address at
//! login, by the secret of a session or a link. What is derived from the journal is written together with
//! the position it was derived from ([`watermark`]), so applying twice is impossible, not unlikely.

pub mod account_outbox;
pub mod accounts;
pub mod announcements;
pub mod api_keys;
mod copy;
mod copy_out;
pub mod deletions;
pub mod deliveries;
pub mod disobeyed_decisions;
pub mod endpoints;

pub mod erasures;
mod error;
pub mod events;
mod expiry;
pub mod exports;
pub mod invitations;
pub mod jobs;
mod literal;
pub mod members;
pub mod outbox;
pub mod page;
pub mod partitions;
pub mod password_resets;
pub mod passwords;
pub mod policies;
pub mod recoveries;
mod redrive;
pub mod registrations;
pub mod rule_counts;
pub mod rules;
mod schema;
pub mod sessions;
pub mod signing_secrets;
mod statement;
mod times;
pub mod transparency;
mod values;
pub mod views;
pub mod watermark;
pub mod writer;

use std::time::Duration;

use domain::partition::Partitions;
use sqlx::{
    Connection, Executor as _, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

pub use error::Error;
use tokio::time::timeout;

/// How long a request waits for a connection before it is told that the database is down.
const REQUEST_PATIENCE: Duration = Duration::from_secs(2);

/// How long a command waits, whose user would have to type it again.
const COMMAND_PATIENCE: Duration = Duration::from_secs(15);

/// How long opening a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// How long a statement on a connection of the pool may take, so that few dear ones cannot hold all of
/// them; the next dearest (a piece of an export) takes milliseconds. Writers, migrations and whatever
/// else takes its time have connections of their own.
const STATEMENT_TIMEOUT: &str = "SET statement_timeout = '5s'";

/// A pool of connections. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pool: PgPool,
    /// Those of the journal, if a transparency log is kept of what is written.
    transparency: Option<Partitions>,
}

impl Store {
    /// A store that connects when it is first used: a node may start while PostgreSQL is down.
    pub fn new(url: &str, connections_max: u32) -> Result<Self, Error> {
        Self::with_patience(url, connections_max, REQUEST_PATIENCE)
    }

    /// The same for a command, which waits for a database that is busy.
    pub fn for_command(url: &str, connections_max: u32) -> Result<Self, Error> {
        Self::with_patience(url, connections_max, COMMAND_PATIENCE)
    }

    fn with_patience(url: &str, connections_max: u32, patience: Duration) -> Result<Self, Error> {
        let options: PgConnectOptions = url
            .parse()
            .map_err(|_| Error::Misconfigured("postgres.url is not a valid URL"))?;
        let pool = PgPoolOptions::new()
            .max_connections(connections_max)
            .acquire_timeout(patience)
            .after_connect(|connection, _| {
                Box::pin(async move {
                    connection.execute(STATEMENT_TIMEOUT).await?;
                    Ok(())
                })
            })
            .connect_lazy_with(options.application_name("watchbell"));
        Ok(Self {
            pool,
            transparency: None,
        })
    }

    /// Keeps a transparency log of the events and attempts that are written from now on.
    #[must_use]
    pub fn with_transparency_log(self, partitions: Partitions) -> Self {
        Self {
            transparency: Some(partitions),
            ..self
        }
    }

    /// A connection outside the pool, on which a statement may take its time. It says why there is none;
    /// the pool only says "timed out".
    async fn connect(&self) -> Result<PgConnection, Error> {
        connect(&self.pool.connect_options()).await
    }

    /// Whether PostgreSQL answers.
    pub async fn ping(&self) -> Result<(), Error> {
        sqlx::query("SELECT 1").execute(&self.pool).await?;
        Ok(())
    }
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection, Error> {
    match timeout(CONNECT_TIMEOUT, PgConnection::connect_with(options)).await {
        Ok(connection) => Ok(connection?),
        Err(_) => Err(Error::Unavailable(sqlx::Error::PoolTimedOut)),
    }
}
