//! What a matcher has judged: a chain of messages, each appended behind the one that its writer took
//! for the last.
//!
//! Two that judge the same events are wasteful but never wrong: one appends, the other is told that it
//! was overtaken. The chain is a part of the outcome log, under a subject of its own, so that what was
//! decided is on record where it was decided, and before any attempt.
//!
//! Two that judge the same events in the same millisecond may write the same bytes. So a judgment has a nonce of its
//! writer's beside them, as the id of its message, and not in the record: whoever reads the record needs no other version
//! of it.

use async_nats::{
    header::NATS_MESSAGE_ID,
    jetstream::{
        context::PublishErrorKind,
        message::{PublishMessage, StreamMessage},
        stream::{LastRawMessageErrorKind, RawMessageErrorKind},
    },
};
use bytes::Bytes;
use domain::partition::Partition;

use crate::{
    Error, Journal,
    append::APPEND_DEADLINE,
    follow::Follower,
    record::{self, Judged, OutcomeRecord},
    retry::{CLIENT_PATIENCE, persist},
    streams::Log,
};

/// Says when the last message that is judged was stored. Beside the record, as the nonce is.
const REACHED: &str = "Watchbell-Reached-Ns";

/// One message of the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgment {
    pub sequence: u64,
    pub judged: Judged,
    /// What was decided with it.
    pub facts: Vec<OutcomeRecord>,
    /// When the last message that is judged was stored ([`Journal::stored_ns`]); `None` if nobody noted it.
    pub reached_ns: Option<i64>,
}

impl Judgment {
    /// One message of the log's; `None` if it is not of the chain.
    pub fn read(sequence: u64, payload: &[u8]) -> Result<Option<Self>, Error> {
        let mut records = record::outcomes(payload)?.into_iter();
        Ok(match records.next() {
            Some(OutcomeRecord::Judged(judged)) => Some(Self {
                sequence,
                judged,
                facts: records.collect(),
                reached_ns: None,
            }),
            _ => None,
        })
    }
}

impl Journal {
    /// The end of a partition's chain; `None` if nothing was judged yet.
    pub async fn last_judgment(&self, partition: Partition) -> Result<Option<Judgment>, Error> {
        let doing = "read the matcher's position";
        let last = persist(CLIENT_PATIENCE, doing, || {
            self.last_of_chain(partition, doing)
        });
        match last.await? {
            Some(last) => {
                let end = Judgment::read(last.sequence, &last.payload)?;
                let reached_ns = reached_ns(&last);
                Ok(end.map(|end| Judgment { reached_ns, ..end }))
            }
            None => Ok(None),
        }
    }

    /// Reads a partition's chain from just after a sequence.
    pub fn judgments(&self, partition: Partition, after: u64) -> Follower {
        self.follow_subject(
            self.names.log_stream(Log::Outcomes(partition)),
            self.names.judged_subject(partition),
            after,
        )
    }

    /// Appends to a partition's chain, and returns where; `None` if `last` is not its end any more. `nonce` must
    /// never have been used for another message: by it a writer knows its own, should the answer have got lost.
    /// `reached_ns` is noted beside it.
    pub async fn append_judgment(
        &self,
        partition: Partition,
        last: u64,
        nonce: &str,
        reached_ns: Option<i64>,
        message: Vec<u8>,
    ) -> Result<Option<u64>, Error> {
        let doing = "append a judgment";
        let (subject, payload) = (self.names.judged_subject(partition), Bytes::from(message));
        persist(APPEND_DEADLINE, doing, || async {
            let mut message = PublishMessage::build()
                .payload(payload.clone())
                .message_id(nonce)
                .expected_last_subject_sequence(last);
            if let Some(reached_ns) = reached_ns {
                message = message.header(REACHED, reached_ns.to_string());
            }
            match self.publish_once(&subject, message).await {
                Ok(acknowledged) => Ok(Some(acknowledged.sequence)),
                Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {
                    // Ours, if an earlier try of it worked and the answer got lost.
                    let end = self.last_of_chain(partition, doing).await?;
                    let end = end.as_ref().map(|end| (end.sequence, nonce_of(end)));
                    Ok(own_end(end, nonce))
                }
                Err(error) => Err(Error::unavailable(doing, error)),
            }
        })
        .await
    }

    /// A message of events; `None` if the log no longer has it.
    pub async fn event_message(
        &self,
        partition: Partition,
        sequence: u64,
    ) -> Result<Option<Bytes>, Error> {
        let doing = "read an event message again";
        persist(CLIENT_PATIENCE, doing, || async {
            let stream = self
                .context
                .get_stream_no_info(self.names.log_stream(Log::Events(partition)))
                .await
                .map_err(|source| Error::unavailable(doing, source))?;
            match stream.get_raw_message(sequence).await {
                Ok(message) => Ok(Some(message.payload)),
                Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
                Err(source) => Err(Error::unavailable(doing, source)),
            }
        })
        .await
    }

    async fn last_of_chain(
        &self,
        partition: Partition,
        doing: &str,
    ) -> Result<Option<StreamMessage>, Error> {
        let stream = self
            .context
            .get_stream_no_info(self.names.log_stream(Log::Outcomes(partition)))
            .await
            .map_err(|source| Error::unavailable(doing, source))?;
        let subject = self.names.judged_subject(partition);
        match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(source) => Err(Error::unavailable(doing, source)),
        }
    }
}

/// Where a writer's own message is, if the chain ends with it: who finds another end than it took for the last looks
/// for that.
pub fn own_end(end: Option<(u64, Option<&str>)>, nonce: &str) -> Option<u64> {
    let (sequence, of) = end?;
    (of == Some(nonce)).then_some(sequence)
}

/// Whose a message of the chain is; `None` if it was written before there were nonces.
fn nonce_of(message: &StreamMessage) -> Option<&str> {
    let nonce = message.headers.get(NATS_MESSAGE_ID)?;
    Some(nonce.as_str())
}

fn reached_ns(message: &StreamMessage) -> Option<i64> {
    message.headers.get(REACHED)?.as_str().parse().ok()
}
