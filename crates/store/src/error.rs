//! What can go wrong with the store.

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// PostgreSQL cannot be reached, is starting or stopping, or gave this transaction up in favor
    /// of another. Trying again may help.
    #[error("database unavailable")]
    Unavailable(#[source] sqlx::Error),
    /// The value is taken (an email address, say).
    #[error("already exists")]
    Conflict,
    #[error("{0}")]
    Misconfigured(&'static str),
    /// The schema could not be brought up to date.
    #[error("migrate the database")]
    Migration(#[source] sqlx::migrate::MigrateError),
    /// The schema is not one that a release ever had.
    #[error(
        "the database was made by a build from before the first release, and cannot be upgraded: export what you need \
         with that build, then start with an empty database and an empty journal (or another `journal.namespace`)"
    )]
    NotReleased,
    /// What is stored cannot be read back; somebody changed it by hand.
    #[error("read {what}: {problem}")]
    Inconsistent { what: &'static str, problem: String },
    /// PostgreSQL gave it up after the time that a statement may take.
    #[error("database query took too long")]
    TookTooLong,
    #[error("database query failed")]
    Query(#[source] sqlx::Error),
}

/// What PostgreSQL says when a statement's time is up.
const CANCELED: &str = "57014";

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let unavailable = match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Protocol(_) => true,
            sqlx::Error::Database(database) => {
                database.code().is_some_and(|code| is_passing(&code))
            }
            _ => false,
        };
        let taken =
            matches!(&error, sqlx::Error::Database(database) if database.is_unique_violation());
        let code = error
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code);
        if code.is_some_and(|code| code == CANCELED) {
            return Self::TookTooLong;
        }
        match (unavailable, taken) {
            (true, _) => Self::Unavailable(error),
            (false, true) => Self::Conflict,
            (false, false) => Self::Query(error),
        }
    }
}

impl Error {
    /// Whether it is what we wanted to write that is at fault: PostgreSQL will never take it, however often it is
    /// tried, and it must not hold up what comes after it. 22: a value of the wrong form; 23: against
    /// a constraint (one that is taken is [`Error::Conflict`]). Not 54, too large: our texts are bounded,
    /// and PostgreSQL also says it when it is out of transaction ids, which passes.
    pub fn refuses_data(&self) -> bool {
        let Self::Query(sqlx::Error::Database(answer)) = self else {
            return false;
        };
        let code = answer.code().unwrap_or_default();
        ["22", "23"].iter().any(|class| code.starts_with(class))
    }
}

/// 57P0x: the server is starting or stopping; 08xxx: the connection broke; 53300: full; 40001 and
/// 40P01: two transactions were in each other's way, and this one was undone; 55P03: what is to be
/// changed is in use, and we gave up waiting.
fn is_passing(code: &str) -> bool {
    code.starts_with("57P")
        || code.starts_with("08")
        || ["53300", "40001", "40P01", "55P03"].contains(&code)
}

impl From<sqlx::migrate::MigrateError> for Error {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        match error {
            sqlx::migrate::MigrateError::Execute(error) => Self::from(error),
            other => Self::Migration(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, error::Error as StdError, fmt};

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::*;

    /// PostgreSQL's answer with a code and nothing else.
    #[derive(Debug)]
    struct Answer(&'static str);

    impl fmt::Display for Answer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl StdError for Answer {}

    impl DatabaseError for Answer {
        fn message(&self) -> &str {
            self.0
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }

        fn kind(&self) -> ErrorKind {
            match self.0 {
                "23505" => ErrorKind::UniqueViolation,
                _ => ErrorKind::Other,
            }
        }

        fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
            self
        }
    }

    #[test]
    fn what_passes_by_itself_may_be_tried_again_and_nothing_else() {
        let error = |code| Error::from(sqlx::Error::Database(Box::new(Answer(code))));
        for code in [
            "57P01", "57P03", "08006", "53300", "40001", "40P01", "55P03",
        ] {
            assert!(matches!(error(code), Error::Unavailable(_)), "{code}");
        }
        for code in ["23503", "42P01", "40002"] {
            assert!(matches!(error(code), Error::Query(_)), "{code}");
        }
        assert!(matches!(error("23505"), Error::Conflict));
        assert!(matches!(error("57014"), Error::TookTooLong));
    }

    #[test]
    fn what_postgresql_will_never_take_is_told_from_what_it_will_take_later() {
        let error = |code| Error::from(sqlx::Error::Database(Box::new(Answer(code))));
        for code in ["22021", "23502", "23514"] {
            assert!(error(code).refuses_data(), "{code}");
        }
        for code in ["23505", "42P01", "53100", "54000", "57P01", "25006"] {
            assert!(!error(code).refuses_data(), "{code}");
        }
    }
}
