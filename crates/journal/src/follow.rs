//! Reads a log in order from a position that the reader keeps itself.
//!
//! The server holds no state for a follower: whoever writes the position beside what it derived
//! (in one transaction) applies every message exactly once, however often it starts again, and two
//! followers at once are wasteful but never wrong.

use std::time::Duration;

use async_nats::jetstream::{
    self,
    consumer::{AckPolicy, DeliverPolicy, pull},
};
use bytes::Bytes;
use futures::{FutureExt, StreamExt};

use crate::{
    Error, Journal,
    streams::{Bucket, Log},
};

/// A silent server is noticed after two of these, and the follower starts again where it was.
const HEARTBEAT: Duration = Duration::from_secs(1);
const PULL_EXPIRES: Duration = Duration::from_secs(5);
/// A consumer nobody reads any more is forgotten by the server after this.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(30);
/// How many messages one pull asks for; at 512 KiB each this bounds a follower's memory.
const PULL_MESSAGES: usize = 64;

/// One message of a log and where it stands.
#[derive(Clone, Debug)]
pub struct Entry {
    pub sequence: u64,
    pub subject: String,
    pub payload: Bytes,
}

/// A reader of one stream. An error leaves it where it was; the next call starts again there.
pub struct Follower {
    journal: Journal,
    stream: String,
    position: u64,
    messages: Option<pull::Stream>,
}

impl Journal {
    /// Follows a log from just after `position`.
    pub fn follow(&self, log: Log, position: u64) -> Follower {
        self.follow_stream(self.names.log_stream(log), position)
    }

    /// Follows the values of a bucket that changed after `position`.
    pub(crate) fn follow_bucket(&self, bucket: Bucket, position: u64) -> Follower {
        self.follow_stream(self.names.bucket_stream(bucket), position)
    }

    fn follow_stream(&self, stream: String, position: u64) -> Follower {
        Follower {
            journal: self.clone(),
            stream,
            position,
            messages: None,
        }
    }
}

impl Follower {
    /// Waits for at least one entry and returns what is there, at most `most`.
    pub async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error> {
        let outcome = self.read(most).await;
        if outcome.is_err() {
            self.messages = None;
        }
        outcome
    }

    /// The sequence of the last entry returned, or where following began.
    pub fn position(&self) -> u64 {
        self.position
    }

    async fn read(&mut self, most: usize) -> Result<Vec<Entry>, Error> {
        let mut messages = match self.messages.take() {
            Some(messages) => messages,
            None => self.open().await?,
        };
        let mut entries = Vec::new();
        let mut next = messages.next().await;
        loop {
            let message = next
                .ok_or_else(|| {
                    Error::timed_out(format!("follow {}: the server stopped", self.stream))
                })?
                .map_err(|source| Error::unavailable(format!("follow {}", self.stream), source))?;
            if let Some(entry) = self.entry(&message)? {
                entries.push(entry);
            }
            if entries.len() >= most {
                break;
            }
            match messages.next().now_or_never() {
                Some(more) => next = more,
                None => break,
            }
        }
        self.messages = Some(messages);
        Ok(entries)
    }

    /// `None` for what was already returned before a restart.
    fn entry(&mut self, message: &jetstream::Message) -> Result<Option<Entry>, Error> {
        let info = message
            .info()
            .map_err(|source| Error::unavailable(format!("follow {}", self.stream), source))?;
        let sequence = info.stream_sequence;
        if sequence <= self.position {
            return Ok(None);
        }
        self.position = sequence;
        Ok(Some(Entry {
            sequence,
            subject: message.subject.to_string(),
            payload: message.payload.clone(),
        }))
    }

    async fn open(&self) -> Result<pull::Stream, Error> {
        let doing = || format!("follow {} from {}", self.stream, self.position);
        let config = pull::Config {
            ack_policy: AckPolicy::None,
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: self.position + 1,
            },
            inactive_threshold: FORGOTTEN_AFTER,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let consumer = self
            .journal
            .context
            .create_consumer_on_stream(config, self.stream.as_str())
            .await
            .map_err(|source| Error::unavailable(doing(), source))?;
        consumer
            .stream()
            .max_messages_per_batch(PULL_MESSAGES)
            .heartbeat(HEARTBEAT)
            .expires(PULL_EXPIRES)
            .messages()
            .await
            .map_err(|source| Error::unavailable(doing(), source))
    }
}
