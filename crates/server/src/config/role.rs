//! What a process does: any set of four roles.

use clap::ValueEnum;

/// One thing a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Serves HTTP and announces what the control plane decided.
    Api,
    /// Fills PostgreSQL from the journal: events, deliveries, attempts. Makes exports in the background, and deletes
    /// organisations whose time has come.
    Index,
    /// Turns events into deliveries.
    Match,
    /// Sends deliveries.
    Deliver,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Api, Self::Index, Self::Match, Self::Deliver];
}
