//! Which streams exist: their names, their settings, and that they are as they should be.
//!
//! Streams are made idempotently at every start. A setting that may change (copies, ages) is
//! brought in line; the number of partitions may not, so a different one stops the start.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use async_nats::jetstream::{ErrorCode, context::GetStreamErrorKind, kv, stream};
use domain::{
    EndpointId, OrgId,
    delivery::schedule::EXPIRY,
    partition::{Partition, Partitions},
};
use futures::TryStreamExt as _;

use crate::{Error, Journal};

/// How long the journal keeps events and outcomes for consumers that are behind.
pub const KEEP: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long a request that has a name may be sent again (API: 24 h).
const REQUESTS_KEEP: Duration = Duration::from_secs(24 * 3600);
/// How many marks of a kind there may be: the server keeps each one's name in memory. Their bytes have no
/// bound of their own, because the server would set that much of the disk aside at once. Beyond it, which
/// is 46 requests with a key in every second of a day, the oldest run out early; those would be taken for
/// new if they were sent again then.
const MARKS_MAX: i64 = 4_000_000;
/// Within this an append sent again is recognized; longer than any append is retried.
const APPEND_DEDUPE: Duration = Duration::from_secs(60);
/// Within this a delivery queued again is recognized; covers a matcher's crash and restart. Longer
/// costs the server memory for every id; what then is in [`crate::requeue`].
pub(crate) const DELIVERY_DEDUPE: Duration = Duration::from_secs(2 * 60);
/// How many lanes of a partition may be taken from; the server's own default is a thousand.
const LANES_MAX: i32 = 1_000_000;
/// How long a delivery that has expired may still be on its way.
const CANCELS_SPARE: Duration = Duration::from_secs(3600);
/// Longer than the longest time to approve something and to act on it (7 days each).
const APPROVALS_KEEP: Duration = Duration::from_secs(15 * 24 * 3600);
/// How many records that could not be applied there may be; they wait for a person however long it takes.
/// Beyond it none is taken, so that their logs wait: so many mean that something is wrong with the store
/// and not with the records. A number and not bytes, as for the marks.
const DEAD_MAX: i64 = 10_000;
/// Where a stream says how many partitions it was installed with.
const PARTITIONS_KEY: &str = "watchbell_partitions";

/// A stream that is read in order, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Log {
    /// Accepted audit events.
    Events(Partition),
    /// What became of deliveries.
    Outcomes(Partition),
}

/// A set of last values that reaches every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    /// API keys by hash. Apart from the rules, so that key traffic never holds up the matcher.
    Keys,
    /// Alert rules by organization and id.
    Rules,
    /// Endpoints in trouble by organization and id.
    Endpoints,
    /// Whose endpoints are, by organization and id.
    Ownership,
    /// Rounds of deliveries that nobody wants any more, for as long as one may be on its way.
    Cancels,
    /// Signing secrets, sealed, by organization.
    Secrets,
    /// Policies and what belongs to them, by organization.
    Guards,
    /// What people were asked to approve, by organization and decision.
    Approvals,
}

/// A set of marks that are made once and run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// Requests with an `Idempotency-Key`.
    Requests,
    /// Deliveries of events that may come twice. Kept as long as the log from which an event can be
    /// read again.
    Alerts,
}

impl Marks {
    const ALL: [Self; 2] = [Self::Requests, Self::Alerts];

    fn keep(self) -> Duration {
        match self {
            Self::Requests => REQUESTS_KEEP,
            Self::Alerts => KEEP,
        }
    }
}

/// How everything is called, below one namespace.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub namespace: String,
    pub partitions: Partitions,
}

impl Bucket {
    pub const ALL: [Self; 8] = [
        Self::Keys,
        Self::Rules,
        Self::Endpoints,
        Self::Ownership,
        Self::Cancels,
        Self::Secrets,
        Self::Guards,
        Self::Approvals,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keys => "keys",
            Self::Rules => "rules",
            Self::Endpoints => "endpoints",
            Self::Ownership => "ownership",
            Self::Cancels => "cancels",
            Self::Secrets => "secrets",
            Self::Guards => "guards",
            Self::Approvals => "approvals",
        }
    }

    /// How long a value is kept; for ever, if it is zero.
    pub fn keep(self) -> Duration {
        match self {
            Self::Keys
            | Self::Rules
            | Self::Endpoints
            | Self::Ownership
            | Self::Secrets
            | Self::Guards => Duration::ZERO,
            Self::Approvals => APPROVALS_KEEP,
            Self::Cancels => EXPIRY + CANCELS_SPARE,
        }
    }
}

impl Names {
    pub(crate) fn new(namespace: &str, partitions: Partitions) -> Self {
        Self {
            namespace: namespace.to_owned(),
            partitions,
        }
    }

    pub(crate) fn log_stream(&self, log: Log) -> String {
        match log {
            Log::Events(partition) => format!("{}_EVENTS_{}", self.namespace, partition.index()),
            Log::Outcomes(partition) => {
                format!("{}_OUTCOMES_{}", self.namespace, partition.index())
            }
        }
    }

    pub(crate) fn log_subject(&self, log: Log) -> String {
        match log {
            Log::Events(partition) => format!("{}.ev.{}", self.namespace, partition.index()),
            Log::Outcomes(partition) => format!("{}.out.{}", self.namespace, partition.index()),
        }
    }

    /// Of no stream.
    pub(crate) fn wake_subject(&self, log: Log) -> String {
        format!("{}.wake.{}", self.namespace, self.log_stream(log))
    }

    /// What a matcher has judged, in the outcome log.
    pub(crate) fn judged_subject(&self, partition: Partition) -> String {
        format!("{}.judged", self.log_subject(Log::Outcomes(partition)))
    }

    fn log_subjects(&self, log: Log) -> Vec<String> {
        match log {
            Log::Events(_) => vec![self.log_subject(log)],
            Log::Outcomes(partition) => {
                vec![self.log_subject(log), self.judged_subject(partition)]
            }
        }
    }

    pub(crate) fn turns_stream(&self) -> String {
        format!("{}_TURNS", self.namespace)
    }

    /// One message for each partition: whoever has it in hand judges the partition's events.
    pub(crate) fn turn_subject(&self, partition: &str) -> String {
        format!("{}.turn.{partition}", self.namespace)
    }

    pub(crate) fn deliveries_stream(&self, partition: Partition) -> String {
        format!("{}_DELIVERIES_{}", self.namespace, partition.index())
    }

    pub(crate) fn due_subject(&self, partition: Partition) -> String {
        format!("{}.dl.{}.due", self.namespace, partition.index())
    }

    /// One subject per round of a delivery: a round has at most one next attempt.
    pub(crate) fn later_subject(&self, partition: Partition, round: &str) -> String {
        format!("{}.dl.{}.later.{round}", self.namespace, partition.index())
    }

    /// One subject per endpoint that cannot take its deliveries now.
    pub(crate) fn lane_subject(&self, org: OrgId, endpoint: EndpointId) -> String {
        let partition = self.partitions.of(org).index();
        format!("{}.dl.{partition}.lane.{org}.{endpoint}", self.namespace)
    }

    pub(crate) fn lane_subjects(&self, partition: Partition) -> String {
        format!("{}.dl.{}.lane.*.*", self.namespace, partition.index())
    }

    pub(crate) fn marks_stream(&self, marks: Marks) -> String {
        match marks {
            Marks::Requests => format!("{}_REQUESTS", self.namespace),
            Marks::Alerts => format!("{}_ALERTS", self.namespace),
        }
    }

    /// One subject per mark.
    pub(crate) fn mark_subject(&self, marks: Marks, name: &str) -> String {
        match marks {
            Marks::Requests => format!("{}.req.{name}", self.namespace),
            Marks::Alerts => format!("{}.alert.{name}", self.namespace),
        }
    }

    pub(crate) fn dead_stream(&self) -> String {
        format!("{}_DEAD", self.namespace)
    }

    pub(crate) fn dead_subjects(&self) -> String {
        format!("{}.dead.>", self.namespace)
    }

    pub(crate) fn bucket(&self, bucket: Bucket) -> String {
        format!("{}_{}", self.namespace, bucket.as_str())
    }

    pub(crate) fn bucket_stream(&self, bucket: Bucket) -> String {
        format!("KV_{}", self.bucket(bucket))
    }

    pub(crate) fn bucket_subject(&self, bucket: Bucket, key: &str) -> String {
        format!("$KV.{}.{key}", self.bucket(bucket))
    }
}

impl Journal {
    /// Whether the streams are there; an error if they are another installation's.
    pub async fn is_prepared(&self) -> Result<bool, Error> {
        let wanted = self.log_config(Log::Events(first_partition(self.names.partitions)));
        match self.context.get_stream(&wanted.name).await {
            Ok(stream) => {
                check_partitions(&stream.cached_info().config, &wanted)?;
                Ok(true)
            }
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(answer)
                    if answer.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    Ok(false)
                }
                _ => Err(Error::unavailable("list the streams", error)),
            },
        }
    }

    /// Whether every stream is there, whatever its settings.
    pub async fn is_whole(&self) -> Result<bool, Error> {
        let names = self.context.stream_names();
        let there: HashSet<String> = names
            .try_collect()
            .await
            .map_err(|source| Error::unavailable("list the streams", source))?;
        let streams = self.stream_configs().into_iter().map(|config| config.name);
        let buckets = Bucket::ALL.map(|bucket| self.names.bucket_stream(bucket));
        Ok(streams.chain(buckets).all(|name| there.contains(&name)))
    }

    /// Makes what is missing and brings the rest in line.
    pub async fn prepare(&self) -> Result<(), Error> {
        for config in self.stream_configs() {
            self.ensure_stream(config).await?;
        }
        for bucket in Bucket::ALL {
            self.ensure_bucket(bucket).await?;
        }
        Ok(())
    }

    /// All streams but those of buckets.
    fn stream_configs(&self) -> Vec<stream::Config> {
        let of_partition = |partition| {
            [
                self.log_config(Log::Events(partition)),
                self.log_config(Log::Outcomes(partition)),
                self.deliveries_config(partition),
            ]
        };
        let partitions = self.names.partitions.all();
        let mut configs: Vec<stream::Config> = partitions.flat_map(of_partition).collect();
        configs.push(self.turns_config());
        configs.extend(Marks::ALL.map(|marks| self.marks_config(marks)));
        configs.push(self.dead_config());
        configs
    }

    fn log_config(&self, log: Log) -> stream::Config {
        let share = match log {
            Log::Events(_) => self.events_share(),
            Log::Outcomes(_) => None,
        };
        stream::Config {
            name: self.names.log_stream(log),
            subjects: self.names.log_subjects(log),
            retention: stream::RetentionPolicy::Limits,
            max_age: KEEP,
            // To the server 0 is no bound.
            max_bytes: share.map_or(0, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
            discard: share.map_or_else(Default::default, |_| stream::DiscardPolicy::New),
            duplicate_window: APPEND_DEDUPE,
            ..self.base_config()
        }
    }

    /// What the log of events of each partition may hold; `None`: nothing bounds it.
    pub fn events_share(&self) -> Option<u64> {
        let partitions = u64::from(self.names.partitions.count());
        self.events_bytes_max
            .map(|bytes| (bytes / partitions).max(1))
    }

    fn deliveries_config(&self, partition: Partition) -> stream::Config {
        stream::Config {
            name: self.names.deliveries_stream(partition),
            subjects: vec![
                self.names.due_subject(partition),
                self.names.later_subject(partition, "*"),
                self.names.lane_subjects(partition),
            ],
            retention: stream::RetentionPolicy::WorkQueue,
            max_consumers: LANES_MAX,
            duplicate_window: DELIVERY_DEDUPE,
            allow_message_schedules: true,
            allow_message_ttl: true,
            allow_rollup: true,
            ..self.base_config()
        }
    }

    fn turns_config(&self) -> stream::Config {
        stream::Config {
            name: self.names.turns_stream(),
            subjects: vec![self.names.turn_subject("*")],
            retention: stream::RetentionPolicy::Limits,
            max_messages_per_subject: 1,
            ..self.base_config()
        }
    }

    fn marks_config(&self, marks: Marks) -> stream::Config {
        stream::Config {
            name: self.names.marks_stream(marks),
            subjects: vec![self.names.mark_subject(marks, "*")],
            retention: stream::RetentionPolicy::Limits,
            max_age: marks.keep(),
            max_messages: MARKS_MAX,
            discard: stream::DiscardPolicy::Old,
            ..self.base_config()
        }
    }

    fn dead_config(&self) -> stream::Config {
        stream::Config {
            name: self.names.dead_stream(),
            subjects: vec![self.names.dead_subjects()],
            retention: stream::RetentionPolicy::Limits,
            max_messages: DEAD_MAX,
            max_messages_per_subject: 1,
            discard: stream::DiscardPolicy::New,
            duplicate_window: APPEND_DEDUPE,
            ..self.base_config()
        }
    }

    fn base_config(&self) -> stream::Config {
        let partitions = self.names.partitions.count().to_string();
        stream::Config {
            storage: stream::StorageType::File,
            num_replicas: self.replicas,
            metadata: HashMap::from([(PARTITIONS_KEY.to_owned(), partitions)]),
            ..stream::Config::default()
        }
    }

    async fn ensure_stream(&self, wanted: stream::Config) -> Result<(), Error> {
        let doing = || format!("prepare stream {}", wanted.name);
        let existing = self
            .context
            .get_or_create_stream(wanted.clone())
            .await
            .map_err(|source| Error::unavailable(doing(), source))?;
        let existing = &existing.cached_info().config;
        check_partitions(existing, &wanted)?;
        if differs(existing, &wanted) {
            tracing::info!(stream = wanted.name, "stream settings changed, updating");
            // Who does not know of a bound, such as a command without the server's settings, does not lift it.
            let mut update = wanted.clone();
            if wanted.max_bytes == 0 {
                (update.max_bytes, update.discard) = (existing.max_bytes, existing.discard);
            }
            self.context
                .update_stream(update)
                .await
                .map_err(|source| Error::unavailable(doing(), source))?;
        }
        Ok(())
    }

    async fn ensure_bucket(&self, bucket: Bucket) -> Result<(), Error> {
        let config = kv::Config {
            bucket: self.names.bucket(bucket),
            history: 1,
            max_age: bucket.keep(),
            storage: stream::StorageType::File,
            num_replicas: self.replicas,
            ..kv::Config::default()
        };
        let doing = format!("prepare bucket {}", config.bucket);
        self.context
            .create_or_update_key_value(config)
            .await
            .map_err(|source| Error::unavailable(doing, source))?;
        Ok(())
    }
}

fn first_partition(partitions: Partitions) -> Partition {
    partitions
        .all()
        .next()
        .expect("there is at least one partition")
}

fn check_partitions(existing: &stream::Config, wanted: &stream::Config) -> Result<(), Error> {
    let (was, is) = (
        existing.metadata.get(PARTITIONS_KEY),
        wanted.metadata.get(PARTITIONS_KEY),
    );
    if was == is {
        return Ok(());
    }
    Err(Error::Misconfigured(format!(
        "the journal was installed with {} partitions and the configuration says {}; set \
         journal.partitions back (it never changes after the installation)",
        was.map_or("an unknown number of", String::as_str),
        is.map_or("none", String::as_str),
    )))
}

fn differs(existing: &stream::Config, wanted: &stream::Config) -> bool {
    existing.subjects != wanted.subjects
        || existing.num_replicas != wanted.num_replicas
        || existing.max_age != wanted.max_age
        || (wanted.max_messages > 0 && existing.max_messages != wanted.max_messages)
        || (wanted.max_bytes > 0
            && (existing.max_bytes, existing.discard) != (wanted.max_bytes, wanted.discard))
        || (!wanted.duplicate_window.is_zero()
            && existing.duplicate_window != wanted.duplicate_window)
        || existing.allow_message_schedules != wanted.allow_message_schedules
}
