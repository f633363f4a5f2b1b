//! Dead letters: records that could not be applied, kept until a person has seen to them.
//!
//! A record that the store will never take must not hold up those behind it, and must not be lost. So
//! it is put here before its log's position moves past it. The same record put here twice is here
//! once: each has a subject of its own, which holds one message.

use async_nats::jetstream::{
    message::{PublishMessage, StreamMessage},
    stream::{RawMessageErrorKind, Stream},
};
use bytes::Bytes;
use domain::Timestamp;

use crate::{
    Error, Journal,
    append::APPEND_DEADLINE,
    record::{self, DeadLetter},
    retry::{CLIENT_PATIENCE, persist},
    streams::{Log, Names},
};

/// Where in a log a record stood. Tells it from every other, also of a log made anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub log: Log,
    /// When the log was made, as [`crate::log_state::LogState::created`] says.
    pub created: String,
    pub sequence: u64,
    /// Which record of the message, from zero.
    pub number: usize,
}

/// A dead letter and the number by which people call it.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbered {
    pub number: u64,
    /// Its [`Place`], as a text.
    pub place: String,
    pub letter: DeadLetter,
}

impl Names {
    /// One subject per record: put aside twice, it is there once.
    pub(crate) fn dead_subject(&self, place: &Place) -> String {
        let Place {
            log,
            created,
            sequence,
            number,
        } = place;
        let stream = self.log_stream(*log);
        format!(
            "{}.dead.{stream}.{created}.{sequence}.{number}",
            self.namespace
        )
    }
}

impl Journal {
    /// Returns once the letter is durable. Refused when there is no room: then the log waits, because
    /// to go on would lose the record.
    pub async fn put_dead_letter(
        &self,
        place: &Place,
        at: Timestamp,
        reason: &str,
        payload: &[u8],
    ) -> Result<(), Error> {
        let letter = DeadLetter {
            log: self.log_name(place.log),
            sequence: place.sequence,
            at,
            reason: reason.to_owned(),
            payload: payload.to_vec(),
        };
        let message = PublishMessage::build().payload(Bytes::from(record::message(&letter)));
        let subject = self.names.dead_subject(place);
        self.publish(&subject, message, APPEND_DEADLINE).await
    }

    /// The letters with numbers above `after`, oldest first, at most `most`.
    pub async fn dead_letters(&self, after: u64, most: usize) -> Result<Vec<Numbered>, Error> {
        let mut letters = Vec::new();
        let mut after = after;
        while letters.len() < most {
            let Some(message) = self.dead_letter_from(after + 1).await? else {
                break;
            };
            after = message.sequence;
            letters.push(Numbered {
                number: message.sequence,
                place: message.subject.to_string(),
                letter: record::dead_letter(&message.payload)?,
            });
        }
        Ok(letters)
    }

    /// How many there are, and the newest of them, oldest first: of more than `most` those among the last `most`
    /// numbers that are still there.
    pub async fn newest_dead_letters(&self, most: u64) -> Result<(u64, Vec<Numbered>), Error> {
        let state = self.stream_state(self.names.dead_stream()).await?;
        let after = if state.messages > most {
            state.last_sequence.saturating_sub(most)
        } else {
            0
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok((state.messages, self.dead_letters(after, most).await?))
    }

    /// How many there are.
    pub async fn count_dead_letters(&self) -> Result<u64, Error> {
        let state = self.stream_state(self.names.dead_stream()).await?;
        Ok(state.messages)
    }

    /// Forgets one that has been seen to. One that is gone already stays gone.
    pub async fn remove_dead_letter(&self, number: u64) -> Result<(), Error> {
        let doing = "remove a dead letter";
        persist(CLIENT_PATIENCE, doing, || async {
            if self
                .dead_letter_from(number)
                .await?
                .map(|first| first.sequence)
                != Some(number)
            {
                return Ok(());
            }
            let stream = self.dead_stream(doing).await?;
            let removed = stream.delete_message(number).await;
            removed.map_err(|source| Error::unavailable(doing, source))?;
            Ok(())
        })
        .await
    }

    /// The first letter with this number or a higher one.
    async fn dead_letter_from(&self, number: u64) -> Result<Option<StreamMessage>, Error> {
        let doing = "read dead letters";
        persist(CLIENT_PATIENCE, doing, || async {
            let stream = self.dead_stream(doing).await?;
            let all = self.names.dead_subjects();
            match stream.get_first_raw_message_by_subject(all, number).await {
                Ok(message) => Ok(Some(message)),
                Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
                Err(source) => Err(Error::unavailable(doing, source)),
            }
        })
        .await
    }

    async fn dead_stream(&self, doing: &str) -> Result<Stream<()>, Error> {
        self.context
            .get_stream_no_info(self.names.dead_stream())
            .await
            .map_err(|source| Error::unavailable(doing, source))
    }
}
