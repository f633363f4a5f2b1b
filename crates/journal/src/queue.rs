//! The queue of deliveries: one stream for each partition, and three ways to wait in it.
//!
//! A delivery is *due* and handed to the next worker; it is for [later](crate::schedule), and becomes due
//! when its time comes; or it stands in the *lane* of its endpoint, because that cannot take it now. In a
//! lane it holds no worker's slot and nothing un-acknowledged, however many stand there, and nobody
//! behind it waits. Workers take from a lane when its endpoint can be sent to.
//!
//! A message is a bundle: deliveries of one organization that came up together, whatever their rules, because every message
//! costs the server one write to its disk. A worker parts them by endpoint; they are apart from then on if they are tried
//! again.
//!
//! A message has the name of what is in it: the attempts of these deliveries, each in its round. Whoever queues the same
//! deliveries together makes the same message, and the queue drops what it has ([`again`](crate::requeue)). Names are not
//! numbers of a decision's messages: two versions of us that cut otherwise would give one name to different deliveries, and
//! some would be dropped that were never queued.

use std::{collections::BTreeMap, time::Duration};

use async_nats::jetstream::{
    consumer::{AckPolicy, Consumer, pull},
    message::PublishMessage,
};
use bytes::Bytes;
use domain::{EndpointId, OrgId, delivery::Trigger, partition::Partition};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use sha2::{Digest, Sha256};

use crate::{
    Connection, Error, Journal,
    append::APPEND_DEADLINE,
    record::{self, Job},
    redelivery::REDELIVERED_AFTER,
    work_queue::Task,
};

/// Deliveries in one message, and their bytes: together they are taken, held and handed back, and a worker
/// that dies repeats those of a bundle that it had sent.
const BUNDLE_JOBS_MAX: usize = 32;
const BUNDLE_BYTES_MAX: usize = 128 * 1024;
/// Messages that all workers together may have open, of what is due in a partition, and of one lane.
const DUE_OPEN_MAX: i64 = 16 * 1024;
const LANE_OPEN_MAX: i64 = 256;
/// A lane that nobody takes from, and of which nobody has anything in hand, is forgotten as such, because it
/// costs the server memory; what stands there stays.
const LANE_FORGOTTEN_AFTER: Duration = Duration::from_secs(20);
/// How many messages are queued, or marks made, at the same time.
pub(crate) const QUEUE_AT_ONCE: usize = 64;

/// Where messages are taken from: what is due in a partition, or a lane.
pub struct Source {
    consumer: Consumer<pull::Config>,
    doing: String,
}

/// Messages as they come, for a while.
pub struct Taking {
    batch: pull::Batch,
    doing: String,
}

/// The lane of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    pub org: OrgId,
    pub endpoint: EndpointId,
}

/// How long a message without an answer is sent again.
#[derive(Clone, Copy)]
enum Tries {
    /// Until it is too late.
    Any,
    /// As long as this connection lasts.
    Over(Option<Connection>),
}

impl Journal {
    /// Queues deliveries that are due now: all that were decided on together, or queued again they are not recognized.
    pub async fn deliver_all(&self, jobs: &[Job]) -> Result<(), Error> {
        let subject = |org| self.due_subject_of(org);
        self.queue(bundles(jobs), subject, "", Tries::Any).await
    }

    /// The same for who can look at the record: if the connection is lost they do, and [queue again](crate::requeue) what is
    /// not there.
    pub async fn deliver_while_connected(&self, jobs: &[Job]) -> Result<(), Error> {
        self.queue_over(self.connection(), bundles(jobs)).await
    }

    /// Puts deliveries of a message that was taken back among those that are due.
    pub async fn put_back(&self, from: &Task, jobs: &[Job]) -> Result<(), Error> {
        let subject = |org| self.due_subject_of(org);
        self.queue(bundles(jobs), subject, &moved(from)?, Tries::Any)
            .await
    }

    /// Puts deliveries of a message that was taken into the lane of an endpoint.
    pub async fn park(&self, from: &Task, lane: Lane, jobs: &[Job]) -> Result<(), Error> {
        let subject = |org| self.names.lane_subject(org, lane.endpoint);
        self.queue(bundles(jobs), subject, &moved(from)?, Tries::Any)
            .await
    }

    fn due_subject_of(&self, org: OrgId) -> String {
        self.names.due_subject(self.partitions().of(org))
    }

    async fn queue(
        &self,
        bundles: Vec<Vec<&Job>>,
        subject: impl Fn(OrgId) -> String,
        prefix: &str,
        tries: Tries,
    ) -> Result<(), Error> {
        let publish = async |bundle: Vec<&Job>| {
            let subject = &subject(bundle[0].matched.org);
            let message = PublishMessage::build()
                .message_id(format!("{prefix}{}", name(&bundle)))
                .payload(Bytes::from(record::message_of_jobs(&bundle)));
            match tries {
                Tries::Any => self.publish(subject, message, APPEND_DEADLINE).await,
                Tries::Over(connection) => {
                    self.publish_over(connection, subject, message, APPEND_DEADLINE)
                        .await
                }
            }
        };
        stream::iter(bundles.into_iter().map(Ok))
            .try_for_each_concurrent(QUEUE_AT_ONCE, publish)
            .await
    }

    pub(crate) async fn queue_over(
        &self,
        connection: Option<Connection>,
        bundles: Vec<Vec<&Job>>,
    ) -> Result<(), Error> {
        let subject = |org| self.due_subject_of(org);
        self.queue(bundles, subject, "", Tries::Over(connection))
            .await
    }

    /// What is due in a partition.
    pub async fn due(&self, partition: Partition) -> Result<Source, Error> {
        let config = pull::Config {
            durable_name: Some("deliver".to_owned()),
            filter_subject: self.names.due_subject(partition),
            ack_policy: AckPolicy::Explicit,
            ack_wait: REDELIVERED_AFTER,
            max_ack_pending: DUE_OPEN_MAX,
            ..pull::Config::default()
        };
        self.source(partition, config).await
    }

    /// What stands in a lane.
    pub async fn lane(&self, lane: Lane) -> Result<Source, Error> {
        let config = pull::Config {
            durable_name: Some(format!("lane_{}", lane.endpoint)),
            filter_subject: self.names.lane_subject(lane.org, lane.endpoint),
            ack_policy: AckPolicy::Explicit,
            ack_wait: REDELIVERED_AFTER,
            max_ack_pending: LANE_OPEN_MAX,
            inactive_threshold: LANE_FORGOTTEN_AFTER,
            memory_storage: true,
            ..pull::Config::default()
        };
        self.source(self.partitions().of(lane.org), config).await
    }

    /// A consumer that was lost is made again by the next call, never waited for.
    async fn source(&self, partition: Partition, config: pull::Config) -> Result<Source, Error> {
        let doing = format!("take from {}", config.filter_subject);
        let consumer = self
            .context
            .create_consumer_on_stream(config, self.names.deliveries_stream(partition))
            .await
            .map_err(|source| Error::unavailable(&doing, source))?;
        Ok(Source { consumer, doing })
    }

    /// The lanes of a partition in which something stands, and how many messages.
    pub async fn lanes(&self, partition: Partition) -> Result<Vec<(Lane, usize)>, Error> {
        let doing = "list the lanes";
        let stream = self
            .context
            .get_stream_no_info(self.names.deliveries_stream(partition))
            .await
            .map_err(|source| Error::unavailable(doing, source))?;
        let subjects = stream
            .info_with_subjects(self.names.lane_subjects(partition))
            .await
            .map_err(|source| Error::unavailable(doing, source))?;
        subjects
            .map_err(|source| Error::unavailable(doing, source))
            .try_filter_map(|(subject, messages)| async move {
                Ok(lane_of(&subject).map(|lane| (lane, messages)))
            })
            .try_collect()
            .await
    }
}

fn lane_of(subject: &str) -> Option<Lane> {
    let mut parts = subject.rsplit('.');
    let (endpoint, org) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some(Lane { org, endpoint })
}

/// Deliveries of the same organization together, in their order. It follows from the deliveries alone, so that whoever has
/// the same ones cuts alike.
pub fn bundles(jobs: &[Job]) -> Vec<Vec<&Job>> {
    let mut done = Vec::new();
    let mut open: BTreeMap<OrgId, (Vec<&Job>, usize)> = BTreeMap::new();
    for job in jobs {
        let (bundle, bytes) = open.entry(job.matched.org).or_default();
        let is_full = bundle.len() >= BUNDLE_JOBS_MAX || *bytes + job.json.len() > BUNDLE_BYTES_MAX;
        if is_full && !bundle.is_empty() {
            done.push(std::mem::take(bundle));
            *bytes = 0;
        }
        bundle.push(job);
        *bytes += job.json.len();
    }
    done.extend(open.into_values().map(|(bundle, _)| bundle));
    done
}

pub(crate) fn moved(from: &Task) -> Result<String, Error> {
    let info = from
        .message
        .info()
        .map_err(|source| Error::unavailable("read the position of a message", source))?;
    Ok(moved_from(info.stream_sequence))
}

/// The begin of the name of what is moved on from one message: moved again, after a crash, it is recognized;
/// but the same deliveries may come the same way again from another message, and are not lost then.
pub fn moved_from(sequence: u64) -> String {
    format!("{sequence}-")
}

/// The name of a message: what makes a message of these attempts the same message.
pub fn name(bundle: &[&Job]) -> String {
    match bundle {
        [job] => attempt_id(job),
        _ => {
            let hash = bundle.iter().fold(Sha256::new(), |hash, job| {
                hash.chain_update(attempt_id(job)).chain_update([0])
            });
            hex::encode(&hash.finalize()[..16])
        }
    }
}

/// The name of an attempt in its round: asked for again it is another one, although the attempt before may never have
/// been made. The first of a round that somebody asked for is named by the round alone: its number follows from what was
/// on record, and that may be more when it is queued again.
pub fn attempt_id(job: &Job) -> String {
    let (delivery, round) = (job.matched.delivery, job.since.unix_millis());
    match job.trigger {
        Trigger::Resend | Trigger::Recover => format!("{delivery}-again-{round}"),
        Trigger::Match | Trigger::Test | Trigger::Summary | Trigger::Retry => {
            format!("{delivery}-{}-{round}", job.attempt)
        }
    }
}

impl Source {
    /// How many messages are waiting to be taken.
    pub async fn waiting(&self) -> Result<u64, Error> {
        let info = self.consumer.get_info().await;
        let info = info.map_err(|source| Error::unavailable(&self.doing, source))?;
        Ok(info.num_pending)
    }

    /// Takes at most `most` messages, as they come, until then or for as long as `patience`.
    pub async fn take(&self, most: usize, patience: Duration) -> Result<Taking, Error> {
        // No heartbeats: the library forgets to look again after one.
        let batch = self.consumer.batch().max_messages(most).expires(patience);
        let batch = batch
            .messages()
            .await
            .map_err(|source| Error::unavailable(&self.doing, source))?;
        Ok(Taking {
            batch,
            doing: self.doing.clone(),
        })
    }
}

impl Taking {
    /// The next message; `None` when no more will come.
    pub async fn next(&mut self) -> Result<Option<Task>, Error> {
        match self.batch.next().await {
            Some(Ok(message)) => Ok(Some(Task { message })),
            Some(Err(source)) => Err(Error::unavailable(&self.doing, source)),
            None => Ok(None),
        }
    }

    /// Hands back what arrived and was not taken, so that nobody waits for it to time out.
    pub async fn hand_back_rest(mut self) {
        while let Some(Some(Ok(message))) = self.batch.next().now_or_never() {
            let _ = Task { message }.hand_back().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use domain::{DeliveryId, EventId, RuleId, Timestamp, delivery::Cause};
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::record::Matched;

    fn job(number: u128, org: u128, bytes: usize) -> Job {
        let matched = Matched {
            org: OrgId::from_uuid(Uuid::from_u128(org)),
            delivery: DeliveryId::from_uuid(Uuid::from_u128(number)),
            event: EventId::from_uuid(Uuid::from_u128(number)),
            rule: RuleId::from_uuid(Uuid::from_u128(number % 3)),
            rule_name: String::new(),
            event_type: String::new(),
            url: String::new(),
            matched_at: Timestamp::default(),
            cause: Cause::Match,
        };
        Job::first(matched, "x".repeat(bytes))
    }

    proptest! {
        #[test]
        fn bundling_loses_nothing_keeps_the_order_of_an_organization_and_the_bounds(
            given in prop::collection::vec((0u128..4, 0usize..40_000), 0..200),
        ) {
            let jobs: Vec<Job> = given.iter().zip(1..).map(|((org, bytes), number)| job(number, *org, *bytes)).collect();
            let bundles = bundles(&jobs);
            let mut seen: HashMap<OrgId, Vec<DeliveryId>> = HashMap::new();
            for bundle in &bundles {
                prop_assert!(bundle.len() <= BUNDLE_JOBS_MAX);
                let bytes: usize = bundle.iter().map(|job| job.json.len()).sum();
                prop_assert!(bytes <= BUNDLE_BYTES_MAX || bundle.len() == 1);
                prop_assert!(bundle.iter().all(|job| job.matched.org == bundle[0].matched.org));
                seen.entry(bundle[0].matched.org).or_default().extend(bundle.iter().map(|job| job.matched.delivery));
            }
            let mut wanted: HashMap<OrgId, Vec<DeliveryId>> = HashMap::new();
            for job in &jobs {
                wanted.entry(job.matched.org).or_default().push(job.matched.delivery);
            }
            // Each bundle of an organization is done before its next is begun.
            prop_assert_eq!(seen, wanted);
        }
    }

    #[test]
    fn the_same_attempts_have_the_same_name_and_no_others() {
        let [first, second, third] = [job(1, 1, 0), job(2, 1, 0), job(3, 1, 0)];
        assert_eq!(name(&[&first, &second]), name(&[&first, &second]));
        assert_ne!(name(&[&first, &second]), name(&[&first, &third]));
        assert_ne!(name(&[&first]), name(&[&second]));
        let mut again = first.clone();
        again.since = Timestamp::from_unix_millis(1);
        assert_ne!(name(&[&first]), name(&[&again]), "asked for again");
        again.trigger = Trigger::Recover;
        let mut later = again.clone();
        later.attempt += 1;
        assert_eq!(name(&[&again]), name(&[&later]), "the first of its round");
        later.trigger = Trigger::Retry;
        assert_ne!(name(&[&again]), name(&[&later]), "the next of its round");
    }
}
