//! When a message of a worker that died is handed to another, and what of it is on record as delivered.
//!
//! The log of outcomes is read from a time on, once for all messages that come back together.

use std::{collections::HashSet, time::Duration};

use domain::{DeliveryId, Timestamp, delivery::State, partition::Partition};
use tokio::time::timeout;

use crate::{
    Error, Journal,
    follow::Follower,
    record::{self, Job, OutcomeRecord},
    streams::Log,
    work_queue::Task,
};

/// A worker says every few seconds which messages it still has ([`Task::still_at_it`]); those of one that
/// is silent for this long are handed to another.
pub(crate) const REDELIVERED_AFTER: Duration = Duration::from_secs(16);
/// A message is queued after what was decided is on record, so there is something to read since then.
const SPARE: Duration = Duration::from_secs(10);
/// The record is read no further back: what another delivered before that is delivered again.
const LOOKED_BACK: Duration = Duration::from_secs(300);
const MESSAGES_MAX: usize = 512;
const READ_WITHIN: Duration = Duration::from_secs(5);

/// The attempts that were delivered since a time, as far as the log was read.
pub struct Delivered {
    journal: Journal,
    log: Log,
    since: Timestamp,
    follower: Follower,
    attempts: HashSet<(DeliveryId, u32, Timestamp)>,
}

impl Journal {
    /// What was delivered since a message of this partition may have been in somebody's hands.
    pub fn delivered_since(
        &self,
        partition: Partition,
        task: &Task,
        now: Timestamp,
    ) -> Result<Delivered, Error> {
        let since = looked_for(task, now)?;
        let log = Log::Outcomes(partition);
        Ok(Delivered {
            journal: self.clone(),
            log,
            since,
            follower: self.follow_since(log, since),
            attempts: HashSet::new(),
        })
    }
}

impl Delivered {
    /// Whether it was read from far enough back for this message.
    pub fn is_for(&self, task: &Task, now: Timestamp) -> bool {
        looked_for(task, now).is_ok_and(|since| self.since <= since)
    }

    /// Reads on to where the log ends now.
    pub async fn catch_up(&mut self) -> Result<(), Error> {
        let state = self.journal.log_state(self.log).await?;
        let (end, is_old) = (state.last_sequence, state.last_at < self.since);
        while !is_old && self.follower.position() < end {
            let read = timeout(READ_WITHIN, self.follower.next(MESSAGES_MAX)).await;
            let late = || Error::behind("the outcomes", end);
            for entry in read.map_err(|_| late())?? {
                self.attempts.extend(delivered(&entry.payload)?);
            }
        }
        Ok(())
    }

    /// Whether the attempt that a job asks for was made and the receiver has it.
    pub fn has(&self, job: &Job) -> bool {
        let attempt = (job.matched.delivery, job.attempt, job.due_at);
        self.attempts.contains(&attempt)
    }
}

/// When somebody may have begun to deal with a message, at the earliest; by the server's clock.
fn looked_for(task: &Task, now: Timestamp) -> Result<Timestamp, Error> {
    let earliest = now.minus(LOOKED_BACK);
    Ok(earliest.max(task.queued_at()?).minus(SPARE))
}

fn delivered(message: &[u8]) -> Result<Vec<(DeliveryId, u32, Timestamp)>, Error> {
    let records = record::readable_outcomes(message)?;
    let attempts = records.into_iter().filter_map(|record| match record {
        OutcomeRecord::Attempted(it) if it.state == State::Delivered => {
            Some((it.delivery, it.number, it.due_at))
        }
        _ => None,
    });
    Ok(attempts.collect())
}
