//! What a process does: any set of four roles.

use clap::ValueEnum;

/// One thing a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Serves HTTP and announces control-plane changes.
    Api,
    /// Fills PostgreSQL from the journal: events, deliveries, attempts. Runs background exports, and deletes organizations
    /// that are due for deletion.
    Index,
    /// Turns events into deliveries.
    Match,
    /// Sends deliveries.
    Deliver,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Api, Self::Index, Self::Match, Self::Deliver];

    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Index => "index",
            Self::Match => "match",
            Self::Deliver => "deliver",
        }
    }
}
