//! Why a witness did not cosign a checkpoint.

/// As it is kept, counted and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotCosigned {
    /// It did not answer in time, or that it cannot now.
    Away,
    /// It does not have the log's key.
    UnknownLog,
    /// It refused for another reason.
    Refused,
    /// What it answered is no cosignature of the checkpoint by its key.
    NotBelieved,
    /// It saw a larger log than there is now: the log was rolled back.
    RolledBack,
    /// The log does not continue what it saw before: the history was rewritten.
    Inconsistent,
}

impl NotCosigned {
    pub(super) const ALL: [Self; 6] = [
        Self::Away,
        Self::UnknownLog,
        Self::Refused,
        Self::NotBelieved,
        Self::RolledBack,
        Self::Inconsistent,
    ];

    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Away => "away",
            Self::UnknownLog => "unknown_log",
            Self::Refused => "refused",
            Self::NotBelieved => "not_believed",
            Self::RolledBack => "rolled_back",
            Self::Inconsistent => "inconsistent",
        }
    }

    pub(super) fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.code() == code)
    }

    /// Whether it says that the log is not what it was.
    pub(super) fn accuses_the_log(self) -> bool {
        matches!(self, Self::RolledBack | Self::Inconsistent)
    }
}

/// A witness's refusal, and what an operator should know of it.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) why: NotCosigned,
    pub(super) detail: String,
}

impl Refusal {
    pub(super) fn new(why: NotCosigned, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { why, detail }
    }
}
