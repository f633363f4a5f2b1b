//! What the logs know about themselves: how far they have got, how full they are, and whether a message is the one that it was.

use async_nats::{
    datetime::DateTime,
    jetstream::{
        consumer::{AckPolicy, DeliverPolicy, pull},
        stream::RawMessageErrorKind,
    },
};
use domain::{Timestamp, partition::Partition};

use crate::{
    Error, Journal,
    follow::FORGOTTEN_AFTER,
    retry::{CLIENT_PATIENCE, persist},
    streams::Log,
};

/// How full the fullest log of events is. What one partition cannot take, no other takes for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventsSize {
    pub bytes: u64,
    /// Its share of what all may hold together.
    pub bytes_max: Option<u64>,
}

/// What a stream knows about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    /// Of the oldest message that is kept; one more than the last if none is.
    pub first_sequence: u64,
    pub last_sequence: u64,
    /// How many messages there are.
    pub messages: u64,
    pub bytes: u64,
    /// When the last message was stored, by the server's clock.
    pub last_at: Timestamp,
    /// Tells a stream from one of the same name made after it was lost.
    pub created: String,
}

impl Journal {
    /// The name of a log's stream.
    pub fn log_name(&self, log: Log) -> String {
        self.names.log_stream(log)
    }

    /// The log whose stream has this name.
    pub fn log_named(&self, name: &str) -> Option<Log> {
        let logs = |partition| [Log::Events(partition), Log::Outcomes(partition)];
        let mut all = self.names.partitions.all().flat_map(logs);
        all.find(|log| self.log_name(*log) == name)
    }

    /// How far a log has got, as its leader says.
    pub async fn log_state(&self, log: Log) -> Result<LogState, Error> {
        self.stream_state(self.names.log_stream(log)).await
    }

    /// How full the fullest log of events is.
    pub async fn events_size(&self) -> Result<EventsSize, Error> {
        let sizes = self.events_sizes().await?;
        Ok(EventsSize {
            bytes: sizes
                .into_iter()
                .map(|(_, bytes)| bytes)
                .max()
                .unwrap_or_default(),
            bytes_max: self.events_share(),
        })
    }

    /// How many bytes each log of events holds.
    pub async fn events_sizes(&self) -> Result<Vec<(Partition, u64)>, Error> {
        let mut sizes = Vec::new();
        for partition in self.names.partitions.all() {
            let state = self.log_state(Log::Events(partition)).await?;
            sizes.push((partition, state.bytes));
        }
        Ok(sizes)
    }

    /// When the server stored a message, in nanoseconds; `None` if the log does not have it. Not the same as when it was read:
    /// the log was put back to an earlier state, and another message has its sequence.
    pub async fn stored_ns(&self, log: Log, sequence: u64) -> Result<Option<i64>, Error> {
        self.stored_in(&self.names.log_stream(log), sequence).await
    }

    pub(crate) async fn stored_in(
        &self,
        stream: &str,
        sequence: u64,
    ) -> Result<Option<i64>, Error> {
        if sequence == 0 {
            return Ok(None);
        }
        let doing = "read when a message was stored";
        persist(CLIENT_PATIENCE, doing, || async {
            let stream = self
                .context
                .get_stream_no_info(stream)
                .await
                .map_err(|source| Error::unavailable(doing, source))?;
            match stream.get_raw_message(sequence).await {
                Ok(message) => Ok(Some(nanoseconds(message.time))),
                Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
                Err(source) => Err(Error::unavailable(doing, source)),
            }
        })
        .await
    }

    /// The sequence of the last message that was stored by then.
    pub async fn last_stored_by(&self, log: Log, stored_ns: i64) -> Result<u64, Error> {
        let doing = "look up a message by its time";
        let after = DateTime::from_unix_timestamp_nanos(i128::from(stored_ns) + 1);
        let start_time = after.map_err(|source| Error::unavailable(doing, source))?;
        let config = pull::Config {
            ack_policy: AckPolicy::None,
            deliver_policy: DeliverPolicy::ByStartTime { start_time },
            inactive_threshold: FORGOTTEN_AFTER,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        persist(CLIENT_PATIENCE, doing, || async {
            let consumer = self
                .context
                .create_consumer_on_stream(config.clone(), self.names.log_stream(log))
                .await
                .map_err(|source| Error::unavailable(doing, source))?;
            // A consumer that has delivered nothing stands right before where it begins.
            Ok(consumer.cached_info().delivered.stream_sequence)
        })
        .await
    }

    pub(crate) async fn stream_state(&self, name: String) -> Result<LogState, Error> {
        let doing = format!("read the state of stream {name}");
        let stream = self
            .context
            .get_stream(&name)
            .await
            .map_err(|source| Error::unavailable(doing, source))?;
        let info = stream.cached_info();
        Ok(LogState {
            first_sequence: info.state.first_sequence,
            last_sequence: info.state.last_sequence,
            messages: info.state.messages,
            bytes: info.state.bytes,
            last_at: timestamp(info.state.last_timestamp),
            created: info.created.unix_timestamp_nanos().to_string(),
        })
    }
}

/// A time of the server, exactly.
pub(crate) fn nanoseconds(at: DateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos()).unwrap_or(i64::MAX)
}

/// A time of the server.
pub(crate) fn timestamp(at: DateTime) -> Timestamp {
    let millis = at.unix_timestamp_nanos() / 1_000_000;
    Timestamp::from_unix_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
