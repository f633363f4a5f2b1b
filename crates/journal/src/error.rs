//! What can go wrong with the journal.

use std::sync::Arc;

/// Cloneable, because one failed group commit is the answer to many requests.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The server did not answer, or not in time. Trying again may help.
    #[error("{doing}: journal unavailable")]
    Unavailable {
        doing: String,
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The connection was lost before the server's word on something came. It may have been done, and whoever wants to
    /// try again looks first.
    #[error("{doing}: lost the connection to the journal")]
    Disconnected { doing: String },
    /// As many bytes wait as this node will hold.
    #[error("append: too many bytes are waiting for the journal")]
    Full,
    /// A log holds as much as it may. What is old goes with time.
    #[error("append: the log is full")]
    NoRoom,
    /// What exists is not what this configuration describes; a person must decide.
    #[error("{0}")]
    Misconfigured(String),
    /// A record that a newer version of us wrote; it must wait for that version.
    #[error("decode {what}: version {version} is newer than this program")]
    Newer { what: &'static str, version: u8 },
    /// A record that no version of us wrote.
    #[error("decode {what}: {problem}")]
    Corrupt { what: &'static str, problem: String },
}

impl Error {
    pub(crate) fn unavailable(
        doing: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Unavailable {
            doing: doing.into(),
            source: Arc::from(source.into()),
        }
    }

    /// A reader has not got as far as it must in time.
    pub fn behind(what: &str, sequence: u64) -> Self {
        Self::timed_out(format!(
            "wait until {what} are read up to message {sequence}"
        ))
    }

    pub(crate) fn timed_out(doing: impl Into<String>) -> Self {
        Self::unavailable(doing, "timed out")
    }
}
