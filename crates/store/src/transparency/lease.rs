//! The leases by which normally one process appends to the logs of a partition, and one asks witnesses. A courtesy, as the one
//! of a journal's log is ([`crate::writer`]).

use std::time::Duration;

use domain::partition::Partition;

use crate::{Error, Store, writer::Writer};

/// A connection that waits for a lease, or has it.
#[derive(Debug)]
pub struct Lease {
    writer: Writer,
    name: String,
    is_ours: bool,
}

impl Store {
    pub async fn sequencer_lease(&self, partition: Partition) -> Result<Lease, Error> {
        Ok(Lease {
            writer: self.writer().await?,
            name: format!("transparency {}", partition.index()),
            is_ours: false,
        })
    }

    pub async fn witness_lease(&self) -> Result<Lease, Error> {
        Ok(Lease {
            writer: self.writer().await?,
            name: "transparency witnesses".to_owned(),
            is_ours: false,
        })
    }
}

impl Lease {
    /// Whether the lease is ours: waits for it, or hands it to whoever waits.
    pub async fn take(&mut self, patience: Duration) -> Result<bool, Error> {
        self.is_ours = if self.is_ours {
            self.writer.offer_lease(&self.name).await?
        } else {
            self.writer.take_lease(&self.name, patience).await?
        };
        Ok(self.is_ours)
    }
}
