//! What a matcher has around it: the journal, the rules as its node has heard of them, and a clock.
//!
//! There are two of them: [`Node`], and that of the simulation, which answers late, wrongly or not at all.

use std::sync::Arc;

use domain::{DeliveryId, OrgId, Timestamp, clock::Clock, partition::Partition, rule::RuleSet};
use journal::{
    Connection, Error, Journal,
    dedup::AlertMark,
    follow::{Entry, Follower},
    log_state::LogState,
    match_log::Judgment,
    record::Job,
    requeue::OnRecord,
    streams::Log,
};
use runtime::random;

use crate::Rules;

/// Each of these does what the one of the same name in [`Journal`] or [`Rules`] does.
pub(crate) trait World {
    type Reader: Reader;

    fn now(&self) -> Timestamp;

    /// What nobody has drawn before.
    fn nonce(&self) -> String;

    fn rules_of(&self, org: OrgId) -> Option<Arc<RuleSet>>;

    async fn catch_up(&self) -> Result<(), Error>;

    async fn log_state(&self, log: Log) -> Result<LogState, Error>;

    fn follow(&self, log: Log, position: u64) -> Self::Reader;

    fn judgments(&self, partition: Partition, after: u64) -> Self::Reader;

    async fn last_judgment(&self, partition: Partition) -> Result<Option<Judgment>, Error>;

    async fn append_judgment(
        &self,
        partition: Partition,
        last: u64,
        nonce: &str,
        reached_ns: Option<i64>,
        message: Vec<u8>,
    ) -> Result<Option<u64>, Error>;

    async fn stored_ns(&self, log: Log, sequence: u64) -> Result<Option<i64>, Error>;

    async fn last_stored_by(&self, log: Log, stored_ns: i64) -> Result<u64, Error>;

    /// The bytes of a message of events; `None` if the log no longer has it.
    async fn event_message(
        &self,
        partition: Partition,
        sequence: u64,
    ) -> Result<Option<impl AsRef<[u8]>>, Error>;

    async fn mark_alerts(&self, alerts: &[(DeliveryId, AlertMark)]) -> Result<Vec<bool>, Error>;

    async fn deliver_all(&self, jobs: &[Job]) -> Result<(), Error>;

    async fn deliver_again(
        &self,
        jobs: Vec<Job>,
        on_record: &OnRecord,
        now: Timestamp,
    ) -> Result<(), Error>;

    /// The connection to the journal, if there is one.
    fn connection(&self) -> Option<Connection>;
}

/// Reads a log from a position on.
pub(crate) trait Reader {
    async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error>;

    fn position(&self) -> u64;
}

/// The real one.
pub(crate) struct Node {
    pub(crate) journal: Journal,
    pub(crate) rules: Rules,
    pub(crate) clock: Clock,
}

impl World for Node {
    type Reader = Follower;

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn nonce(&self) -> String {
        hex::encode(random::bytes::<16>())
    }

    fn rules_of(&self, org: OrgId) -> Option<Arc<RuleSet>> {
        self.rules.of(org)
    }

    async fn catch_up(&self) -> Result<(), Error> {
        self.rules.catch_up().await
    }

    async fn log_state(&self, log: Log) -> Result<LogState, Error> {
        self.journal.log_state(log).await
    }

    fn follow(&self, log: Log, position: u64) -> Follower {
        self.journal.follow(log, position)
    }

    fn judgments(&self, partition: Partition, after: u64) -> Follower {
        self.journal.judgments(partition, after)
    }

    async fn last_judgment(&self, partition: Partition) -> Result<Option<Judgment>, Error> {
        self.journal.last_judgment(partition).await
    }

    async fn append_judgment(
        &self,
        partition: Partition,
        last: u64,
        nonce: &str,
        reached_ns: Option<i64>,
        message: Vec<u8>,
    ) -> Result<Option<u64>, Error> {
        let journal = &self.journal;
        journal
            .append_judgment(partition, last, nonce, reached_ns, message)
            .await
    }

    async fn stored_ns(&self, log: Log, sequence: u64) -> Result<Option<i64>, Error> {
        self.journal.stored_ns(log, sequence).await
    }

    async fn last_stored_by(&self, log: Log, stored_ns: i64) -> Result<u64, Error> {
        self.journal.last_stored_by(log, stored_ns).await
    }

    async fn event_message(
        &self,
        partition: Partition,
        sequence: u64,
    ) -> Result<Option<impl AsRef<[u8]>>, Error> {
        self.journal.event_message(partition, sequence).await
    }

    async fn mark_alerts(&self, alerts: &[(DeliveryId, AlertMark)]) -> Result<Vec<bool>, Error> {
        self.journal.mark_alerts(alerts).await
    }

    async fn deliver_all(&self, jobs: &[Job]) -> Result<(), Error> {
        self.journal.deliver_while_connected(jobs).await
    }

    async fn deliver_again(
        &self,
        jobs: Vec<Job>,
        on_record: &OnRecord,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.journal.deliver_again(jobs, on_record, now).await
    }

    fn connection(&self) -> Option<Connection> {
        self.journal.connection()
    }
}

impl Reader for Follower {
    async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error> {
        Follower::next(self, most).await
    }

    fn position(&self) -> u64 {
        Follower::position(self)
    }
}
