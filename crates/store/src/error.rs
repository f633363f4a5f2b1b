//! What can go wrong with the store.

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// PostgreSQL cannot be reached, or is starting or stopping. Trying again may help.
    #[error("database unavailable")]
    Unavailable(#[source] sqlx::Error),
    /// The value is taken (an e-mail address, say).
    #[error("already exists")]
    Conflict,
    #[error("{0}")]
    Misconfigured(&'static str),
    /// The schema could not be brought up to date.
    #[error("migrate the database")]
    Migration(#[source] sqlx::migrate::MigrateError),
    /// What is stored cannot be read back; somebody changed it by hand.
    #[error("read {what}: {problem}")]
    Inconsistent { what: &'static str, problem: String },
    #[error("database query failed")]
    Query(#[source] sqlx::Error),
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let unavailable = match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Protocol(_) => true,
            // 57P0x: the server is starting or stopping; 08xxx: the connection broke; 53300: full.
            sqlx::Error::Database(database) => database.code().is_some_and(|code| {
                code.starts_with("57P") || code.starts_with("08") || code == "53300"
            }),
            _ => false,
        };
        let taken =
            matches!(&error, sqlx::Error::Database(database) if database.is_unique_violation());
        match (unavailable, taken) {
            (true, _) => Self::Unavailable(error),
            (false, true) => Self::Conflict,
            (false, false) => Self::Query(error),
        }
    }
}

impl From<sqlx::migrate::MigrateError> for Error {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        match error {
            sqlx::migrate::MigrateError::Execute(error) => Self::from(error),
            other => Self::Migration(other),
        }
    }
}
