//! The lease by which normally one process appends to the logs of a partition. A courtesy, as the one of a journal's log is
//! ([`crate::writer`]).

use std::time::Duration;

use domain::partition::Partition;

use crate::{Error, Store, writer::Writer};

/// A connection that waits for the lease of a partition, or has it.
#[derive(Debug)]
pub struct SequencerLease {
    writer: Writer,
    name: String,
    is_ours: bool,
}

impl Store {
    pub async fn sequencer_lease(&self, partition: Partition) -> Result<SequencerLease, Error> {
        Ok(SequencerLease {
            writer: self.writer().await?,
            name: format!("transparency {}", partition.index()),
            is_ours: false,
        })
    }
}

impl SequencerLease {
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
