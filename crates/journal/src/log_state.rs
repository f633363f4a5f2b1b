//! What the logs know about themselves: how far they have got, and how full they are.

use async_nats::datetime::DateTime;
use domain::{Timestamp, partition::Partition};

use crate::{Error, Journal, streams::Log};

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

/// A time of the server.
pub(crate) fn timestamp(at: DateTime) -> Timestamp {
    let millis = at.unix_timestamp_nanos() / 1_000_000;
    Timestamp::from_unix_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
