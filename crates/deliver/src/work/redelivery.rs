//! What others delivered of messages that they had in hand: who had one died before it was settled.
//!
//! Only what the receiver has is left out. Of any other attempt it is not known whether all that follows from it was seen to,
//! so it is made again.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Mutex as StdMutex, PoisonError},
    time::Duration,
};

use domain::partition::Partition;
use journal::{Connection, record::Job, redelivery::Delivered, work_queue::Task};
use tokio::{sync::Mutex, time::Instant};

use super::Worker;

/// Messages that come back do so together. What was read is kept so long for the next one.
const KEPT: Duration = Duration::from_secs(30);
/// A server that is killed forgets what it handed out last, and everything that it handed out from lanes: it says of
/// these that nobody had them. They come first when it is back, or when a worker is new, so for this long the record
/// is asked about every message.
const DOUBTED_FOR: Duration = Duration::from_secs(30);
/// Whoever had such a message and died recorded what it sent before that: the record need not be read for each of them.
const GOOD_FOR: Duration = Duration::from_secs(1);

/// What was read of the record, by partition, and since when the server is believed.
#[derive(Default)]
pub(super) struct DeliveredBefore {
    read: Mutex<HashMap<Partition, Read>>,
    connected: StdMutex<Option<(Connection, Instant)>>,
}

struct Read {
    delivered: Delivered,
    asked_at: Instant,
    /// `None`: not yet.
    read_at: Option<Instant>,
}

impl DeliveredBefore {
    /// Forgets what nobody asks for any more.
    pub(super) fn forget(&self) {
        // Somebody asks just now otherwise.
        if let Ok(mut all) = self.read.try_lock() {
            all.retain(|_, read| read.asked_at.elapsed() < KEPT);
        }
    }

    /// Whether the server may have forgotten that somebody had a message.
    fn is_server_in_doubt(&self, connection: Option<Connection>) -> bool {
        let connected = self.connected.lock();
        let mut connected = connected.unwrap_or_else(PoisonError::into_inner);
        match (connection, *connected) {
            (None, _) => true,
            (Some(connection), Some((known, since))) if connection == known => {
                since.elapsed() < DOUBTED_FOR
            }
            (Some(connection), _) => {
                *connected = Some((connection, Instant::now()));
                true
            }
        }
    }
}

impl Worker {
    /// Leaves out what somebody else delivered of a message that they had in hand.
    pub(super) async fn leave_out_delivered(
        &self,
        task: &Task,
        jobs: &mut Vec<Job>,
    ) -> Result<(), journal::Error> {
        let before = &self.0.delivered_before;
        let is_again = task.is_handed_out_again();
        let Some(first) = jobs.first() else {
            return Ok(());
        };
        if !is_again && !before.is_server_in_doubt(self.journal.connection()) {
            return Ok(());
        }
        let partition = self.journal.partitions().of(first.matched.org);
        let now = self.clock.now();
        let mut all = before.read.lock().await;
        all.retain(|of, read| *of != partition || read.delivered.is_for(task, now));
        let read = match all.entry(partition) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(place) => place.insert(Read {
                delivered: self.journal.delivered_since(partition, task, now)?,
                asked_at: Instant::now(),
                read_at: None,
            }),
        };
        let is_good = |at: Instant| at.elapsed() < GOOD_FOR && !is_again;
        if !read.read_at.is_some_and(is_good) {
            read.delivered.catch_up().await?;
            read.read_at = Some(Instant::now());
        }
        read.asked_at = Instant::now();
        jobs.retain(|job| !read.delivered.has(job));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_is_in_doubt_until_it_has_been_there_for_a_while() {
        let before = DeliveredBefore::default();
        let is_in_doubt = |connection: u64| before.is_server_in_doubt(Some(Connection(connection)));
        assert!(is_in_doubt(1), "we are new");
        tokio::time::advance(DOUBTED_FOR).await;
        assert!(!is_in_doubt(1));
        assert!(before.is_server_in_doubt(None), "it is away");
        assert!(is_in_doubt(2), "it may have been started anew");
        tokio::time::advance(DOUBTED_FOR).await;
        assert!(!is_in_doubt(2));
    }
}
