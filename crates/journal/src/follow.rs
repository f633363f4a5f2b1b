//! Reads a log in order from a position that the reader keeps itself.
//!
//! The server holds no lasting state for a follower: whoever writes the position beside what it
//! derived (in one transaction) applies every message exactly once, however often it starts again,
//! and two followers at once are wasteful but never wrong.
//!
//! A message that was on a wire when the wire was cut is gone, and the server believes it delivered.
//! So deliveries are counted, and a follower that finds one missing starts again where it was; the
//! last one before a silence is sent again because nobody acknowledged it.

use std::time::Duration;

use async_nats::{
    datetime::parse_rfc3339,
    header::NATS_MESSAGE_ID,
    jetstream::{
        self,
        consumer::{AckPolicy, DeliverPolicy, pull},
    },
};
use bytes::Bytes;
use domain::Timestamp;
use futures::{FutureExt, StreamExt};

use crate::{
    Error, Journal,
    log_state::nanoseconds,
    salt::{self, MessageSalt},
    streams::{Bucket, Log},
};

/// A silent server is noticed after two of these, and the follower starts again where it was.
const HEARTBEAT: Duration = Duration::from_secs(1);
const PULL_EXPIRES: Duration = Duration::from_secs(5);
/// What was not acknowledged by then did not arrive and is sent again.
const ARRIVES_WITHIN: Duration = Duration::from_secs(2);
/// A consumer nobody reads any more is forgotten by the server after this.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(30);
/// What one pull asks for at most. The next is asked for when half of it has been read, so one and a
/// half times these bytes may wait in memory; a reader that does not read is not sent more.
const PULL_MESSAGES: usize = 512;
const PULL_BYTES: usize = 8 * 1024 * 1024;

/// What one call returns at most, give or take a message. More in one transaction of the store is no
/// faster, and a reader may hold several times its size.
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One message of a log and where it stands.
#[derive(Clone, Debug)]
pub struct Entry {
    pub sequence: u64,
    /// When the server stored it, in nanoseconds: tells it from another that gets its sequence when the stream is put back
    /// to an earlier state.
    pub stored_ns: i64,
    pub subject: String,
    /// What the salts of its records follow from.
    pub salt: MessageSalt,
    pub payload: Bytes,
}

/// A reader of one stream. An error leaves it where it was; the next call starts again there.
pub struct Follower {
    journal: Journal,
    stream: String,
    /// Only messages of this subject; all, if it is empty.
    subject: String,
    position: u64,
    /// Of the message at the position, if it was read.
    stored_ns: Option<i64>,
    /// Where to begin if nothing was read yet: with the first message of this time or later.
    since: Option<Timestamp>,
    is_behind: bool,
    reading: Option<Reading>,
}

/// A consumer of the follower's own.
struct Reading {
    messages: pull::Stream,
    /// How many messages the server has sent that arrived.
    arrived: u64,
}

impl Journal {
    /// Follows a log from just after `position`.
    pub fn follow(&self, log: Log, position: u64) -> Follower {
        self.follow_stream(self.names.log_stream(log), position)
    }

    /// Follows a log from a time on, by the server's clock.
    pub(crate) fn follow_since(&self, log: Log, since: Timestamp) -> Follower {
        Follower {
            since: Some(since),
            ..self.follow(log, 0)
        }
    }

    /// Follows the values of a bucket that changed after `position`.
    pub(crate) fn follow_bucket(&self, bucket: Bucket, position: u64) -> Follower {
        self.follow_stream(self.names.bucket_stream(bucket), position)
    }

    fn follow_stream(&self, stream: String, position: u64) -> Follower {
        self.follow_subject(stream, String::new(), position)
    }

    /// Follows those messages of a stream that have this subject.
    pub(crate) fn follow_subject(
        &self,
        stream: String,
        subject: String,
        position: u64,
    ) -> Follower {
        Follower {
            journal: self.clone(),
            stream,
            subject,
            position,
            stored_ns: None,
            since: None,
            is_behind: false,
            reading: None,
        }
    }
}

impl Follower {
    /// Waits for messages and returns their entries, at most `most`; none if all were returned before.
    pub async fn next(&mut self, most: usize) -> Result<Vec<Entry>, Error> {
        // Left out of `self` meanwhile: whatever ends this early, the next call opens anew.
        let mut reading = match self.reading.take() {
            Some(reading) => reading,
            None => self.open().await?,
        };
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let mut next = reading.messages.next().await;
        let last = loop {
            let message = match self.take(&mut reading, next, &mut entries) {
                Ok(message) => message,
                // What was read before it counts, and the next call starts again behind that.
                Err(_) if !entries.is_empty() => return Ok(entries),
                Err(error) => return Err(error),
            };
            bytes += message.payload.len();
            if entries.len() >= most || bytes >= BATCH_BYTES_MAX {
                self.is_behind = true;
                break message;
            }
            match reading.messages.next().now_or_never() {
                Some(more) => next = more,
                None => break message,
            }
        };
        // Acknowledges those before it too. Should this get lost, what was read is sent again and
        // recognized by its sequence.
        let _ = last.ack().await;
        self.reading = Some(reading);
        Ok(entries)
    }

    /// Whether the log has more than was returned, as far as the server said with the last message, or may have.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Goes back to the beginning if the message at the position is not the one that was read: the stream was made anew or
    /// put back to an earlier state, or there is a newer value of the same thing; whether it did.
    pub(crate) async fn begins_anew(&mut self) -> Result<bool, Error> {
        let Some(read) = self.stored_ns else {
            return Ok(false);
        };
        let there = self.journal.stored_in(&self.stream, self.position).await?;
        if there == Some(read) {
            return Ok(false);
        }
        (self.position, self.stored_ns, self.reading) = (0, None, None);
        Ok(true)
    }

    /// The sequence of the last entry returned, or where following began.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Takes a message, unless one before it is missing, and its entry, unless it was returned
    /// before.
    fn take(
        &mut self,
        reading: &mut Reading,
        next: Option<Result<jetstream::Message, pull::MessagesError>>,
        entries: &mut Vec<Entry>,
    ) -> Result<jetstream::Message, Error> {
        let doing = || format!("follow {}", self.stream);
        let message = next
            .ok_or_else(|| Error::timed_out(format!("{}: the server stopped", doing())))?
            .map_err(|source| Error::unavailable(doing(), source))?;
        let info = message
            .info()
            .map_err(|source| Error::unavailable(doing(), source))?;
        reading.arrived += 1;
        if info.consumer_sequence != reading.arrived {
            return Err(Error::unavailable(doing(), "a message is missing"));
        }
        self.is_behind = info.pending > 0;
        let sequence = info.stream_sequence;
        if sequence > self.position {
            let stored_ns = nanoseconds(info.published);
            (self.position, self.stored_ns) = (sequence, Some(stored_ns));
            entries.push(Entry {
                sequence,
                stored_ns,
                subject: message.subject.to_string(),
                salt: salt_of(&message),
                payload: message.payload.clone(),
            });
        }
        Ok(message)
    }

    async fn open(&self) -> Result<Reading, Error> {
        let doing = || format!("follow {} from {}", self.stream, self.position);
        let deliver_policy = match self.since {
            Some(since) if self.position == 0 => DeliverPolicy::ByStartTime {
                start_time: parse_rfc3339(&since.to_string())
                    .map_err(|source| Error::unavailable(doing(), source))?,
            },
            _ => DeliverPolicy::ByStartSequence {
                start_sequence: self.position + 1,
            },
        };
        let config = pull::Config {
            ack_policy: AckPolicy::All,
            ack_wait: ARRIVES_WITHIN,
            deliver_policy,
            filter_subject: self.subject.clone(),
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
        let messages = consumer
            .stream()
            .max_messages_per_batch(PULL_MESSAGES)
            .max_bytes_per_batch(PULL_BYTES)
            .heartbeat(HEARTBEAT)
            .expires(PULL_EXPIRES)
            .messages()
            .await
            .map_err(|source| Error::unavailable(doing(), source))?;
        Ok(Reading {
            messages,
            arrived: 0,
        })
    }
}

/// A message of a version before there were salts has its id, which nobody can guess either.
fn salt_of(message: &jetstream::Message) -> MessageSalt {
    let text = message.headers.as_ref().and_then(|headers| {
        let salt = headers.get(salt::HEADER);
        salt.or_else(|| headers.get(NATS_MESSAGE_ID))
    });
    MessageSalt::from_header(text.map_or("", |text| text.as_str()))
}
