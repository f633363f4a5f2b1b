//! What can go wrong with files.

use parquet::errors::ParquetError;

/// An error of files or of where they are kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Object storage, or the disk of a folder, did not do as asked. Trying again may help.
    #[error("{doing}")]
    Storage {
        doing: String,
        #[source]
        source: object_store::Error,
    },
    /// Nothing of that name is kept.
    #[error("{0} does not exist")]
    Missing(String),
    #[error("{0}")]
    Misconfigured(String),
    /// A file that we wrote does not read as we wrote it.
    #[error("read {file}: {problem}")]
    Broken { file: String, problem: String },
    #[error("write Parquet")]
    Parquet(#[from] ParquetError),
    /// The process is ending, or an earlier write failed.
    #[error("writing stopped")]
    Stopped,
    #[error("compress")]
    Compression(#[source] std::io::Error),
}

impl Error {
    pub(crate) fn storage(doing: impl Into<String>, source: object_store::Error) -> Self {
        match source {
            object_store::Error::NotFound { path, .. } => Self::Missing(path),
            source => Self::Storage {
                doing: doing.into(),
                source,
            },
        }
    }

    /// A file that cannot be opened: it is not there, or not as we wrote it.
    pub(crate) fn unread(file: &str, error: &ParquetError) -> Self {
        if let ParquetError::External(source) = error
            && let Some(object_store::Error::NotFound { path, .. }) = source.downcast_ref()
        {
            return Self::Missing(path.clone());
        }
        Self::broken(file, error)
    }

    pub(crate) fn broken(file: &str, problem: &impl ToString) -> Self {
        Self::Broken {
            file: file.to_owned(),
            problem: problem.to_string(),
        }
    }
}
