//! Messages that are each handed to one worker until it settles them.
//!
//! Two things work like this: the [queue](crate::queue) of deliveries, and the turns of the matchers, which
//! are never settled: a turn is handed back, or handed out again when whoever had it died.

use std::time::Duration;

use async_nats::{
    Request,
    jetstream::{
        self, AckKind,
        consumer::{AckPolicy, pull},
        context::PublishErrorKind,
        message::PublishMessage,
    },
};
use bytes::Bytes;
use domain::{Timestamp, partition::Partition};
use futures::{FutureExt, StreamExt};

use crate::{Error, Journal, append::APPEND_DEADLINE, log_state::timestamp, retry::persist};

/// A silent server is noticed after two of these.
const HEARTBEAT: Duration = Duration::from_secs(1);
const PULL_EXPIRES: Duration = Duration::from_secs(5);
/// A matcher says every second that it is still there ([`Task::still_at_it`]); one that is silent for this
/// long is dead, and another takes its turn.
const TURN_SETTLE: Duration = Duration::from_secs(3);
/// How long a worker tries to settle. What it cannot settle is done again by whoever is next.
const SETTLE_DEADLINE: Duration = Duration::from_secs(10);
/// How soon a message that we could not deal with is handed out again.
const HAND_BACK_PAUSE: Duration = Duration::from_secs(1);

/// A stream of messages to be settled one by one.
pub struct Work {
    messages: pull::Stream,
    doing: String,
}

/// One message to be settled. Dropped unsettled it comes back, to this or another worker.
pub struct Task {
    pub(crate) message: jetstream::Message,
}

impl Journal {
    /// The leases of a partition: whoever holds one judges its events. Nothing depends on there being
    /// only one, but two would do the same work.
    pub async fn match_leases(&self, partition: Partition) -> Result<Work, Error> {
        let index = partition.index().to_string();
        let subject = self.names.turn_subject(&index);
        self.ensure_turn(&subject).await?;
        let config = pull::Config {
            durable_name: Some(format!("judge_{index}")),
            filter_subject: subject,
            ack_policy: AckPolicy::Explicit,
            ack_wait: TURN_SETTLE,
            max_ack_pending: 1,
            ..pull::Config::default()
        };
        self.work(self.names.turns_stream(), config, 1).await
    }

    /// Makes the one message that a partition's turns are, unless it is there.
    async fn ensure_turn(&self, subject: &str) -> Result<(), Error> {
        let doing = &format!("prepare {subject}");
        persist(APPEND_DEADLINE, doing, || async {
            let message = PublishMessage::build().expected_last_subject_sequence(0);
            match self.publish_once(subject, message).await {
                Err(error) if error.kind() != PublishErrorKind::WrongLastSequence => {
                    Err(Error::unavailable(doing, error))
                }
                _ => Ok(()),
            }
        })
        .await
    }

    /// Makes or updates the durable consumer, then pulls from it. A consumer that was lost is made
    /// again by the next call, never waited for.
    async fn work(
        &self,
        stream: String,
        config: pull::Config,
        batch: usize,
    ) -> Result<Work, Error> {
        let doing = format!("work on {stream}");
        let failed =
            |source: Box<dyn std::error::Error + Send + Sync>| Error::unavailable(&doing, source);
        let consumer = self
            .context
            .create_consumer_on_stream(config, stream.as_str())
            .await
            .map_err(|source| failed(source.into()))?;
        let messages = consumer
            .stream()
            .max_messages_per_batch(batch)
            .heartbeat(HEARTBEAT)
            .expires(PULL_EXPIRES)
            .messages()
            .await
            .map_err(|source| failed(source.into()))?;
        Ok(Work { messages, doing })
    }
}

impl Work {
    /// Waits for the next message. After an error, ask the journal for the work again.
    pub async fn next(&mut self) -> Result<Task, Error> {
        match self.messages.next().await {
            Some(Ok(message)) => Ok(Task { message }),
            Some(Err(source)) => Err(Error::unavailable(&self.doing, source)),
            None => Err(Error::timed_out(&self.doing)),
        }
    }

    /// Hands back what was pulled and not taken, so that nobody waits for it to time out.
    pub async fn hand_back_rest(mut self) {
        while let Some(Some(Ok(message))) = self.messages.next().now_or_never() {
            let _ = Task { message }.hand_back().await;
        }
    }
}

impl Task {
    pub fn payload(&self) -> &[u8] {
        &self.message.payload
    }

    /// Where it is in its stream: the same message, handed out again, is there too. Nowhere, 0, if it came
    /// without saying so.
    pub fn sequence(&self) -> u64 {
        self.message.info().map_or(0, |info| info.stream_sequence)
    }

    /// When it was queued, by the server's clock.
    pub(crate) fn queued_at(&self) -> Result<Timestamp, Error> {
        let info = self.message.info();
        let info =
            info.map_err(|source| Error::unavailable("read when a message was queued", source))?;
        Ok(timestamp(info.published))
    }

    /// Whether somebody had it before, and did not settle it.
    pub fn is_handed_out_again(&self) -> bool {
        self.message.info().is_ok_and(|info| info.delivered > 1)
    }

    /// The message is dealt with for good; returns when the server knows.
    pub async fn settle(&self) -> Result<(), Error> {
        let doing = "acknowledge a message";
        let subject = self
            .message
            .reply
            .clone()
            .ok_or_else(|| Error::unavailable(doing, "it has no reply subject"))?;
        // Not `double_ack`, which takes "nobody is there to know" for an answer.
        let client = self.message.context.client();
        persist(SETTLE_DEADLINE, doing, || {
            let request = Request::new().payload(Bytes::from_static(b"+ACK"));
            let answer = client.send_request(subject.clone(), request);
            async move {
                let settled = answer.await;
                settled.map_err(|source| Error::unavailable(doing, source))?;
                Ok(())
            }
        })
        .await
    }

    /// Asks for the full time to settle once more.
    pub async fn still_at_it(&self) -> Result<(), Error> {
        self.answer(AckKind::Progress).await
    }

    /// Hands the message back at once, for whoever is next.
    pub async fn hand_back(&self) -> Result<(), Error> {
        self.answer(AckKind::Nak(None)).await
    }

    /// Hands the message back after a failure of ours: each time for twice as long, so that a send
    /// that cannot be recorded is not repeated without pause.
    pub async fn hand_back_after_failure(&self) -> Result<(), Error> {
        let times = self.message.info().map_or(1, |info| info.delivered);
        let doublings = u32::try_from(times.clamp(1, 7) - 1).unwrap_or(0);
        let pause = HAND_BACK_PAUSE * 2u32.pow(doublings);
        self.answer(AckKind::Nak(Some(pause))).await
    }

    /// Hands the message back for later: not for us, but somebody else may deal with it.
    pub async fn hand_back_later(&self) -> Result<(), Error> {
        self.answer(AckKind::Nak(Some(HAND_BACK_PAUSE))).await
    }

    /// The message can never be dealt with; it is not handed out again.
    pub async fn give_up(&self) -> Result<(), Error> {
        self.answer(AckKind::Term).await
    }

    async fn answer(&self, kind: AckKind) -> Result<(), Error> {
        self.message
            .ack_with(kind)
            .await
            .map_err(|source| Error::unavailable("acknowledge a message", source))
    }
}
