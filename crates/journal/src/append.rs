//! Group commit: many requests, one message, one acknowledgment.
//!
//! A server that syncs every write takes some hundred messages a second on an ordinary disk,
//! whatever their size. So while one message is in flight, arriving requests gather into the next,
//! and each is answered when its message is acknowledged. A lone request waits for nobody. Outcomes, for which hardly a client
//! waits, gather a little longer.

use std::{error::Error as _, sync::Arc, time::Duration};

use async_nats::jetstream::{
    self, ErrorCode, context::PublishError, message::PublishMessage, publish::PublishAck,
};
use bytes::Bytes;
use futures::future::try_join_all;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    time::{Instant, sleep_until},
};

use crate::{
    Connection, Error, Journal,
    frames::{Frames, MESSAGE_BYTES_MAX},
    retry::persist,
    salt,
    streams::Log,
};

/// What may wait for one log. Beyond it a request is refused rather than kept in memory.
const WAITING_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How many chunks may queue; the bytes are bounded by [`WAITING_BYTES_MAX`] first in practice.
const WAITING_CHUNKS_MAX: usize = 16 * 1024;
/// How outcomes gather: from the first of them on, and after the message before. What a worker sent that dies meanwhile is sent
/// again.
const OUTCOMES_GATHER: Gather = Gather {
    from_first: Duration::from_millis(5),
    from_last: Duration::from_millis(20),
};
const EVENTS_GATHER: Gather = Gather {
    from_first: Duration::ZERO,
    from_last: Duration::ZERO,
};
/// How long an append is tried.
pub const APPEND_DEADLINE: Duration = Duration::from_secs(15);

/// Appends records to one log. Cheap to clone; made together with the task that does the work.
#[derive(Clone, Debug)]
pub struct Appender {
    queue: mpsc::Sender<Chunk>,
    room: Arc<Semaphore>,
}

type Reply = oneshot::Receiver<Result<(), Error>>;

/// How long records wait for others.
#[derive(Clone, Copy)]
struct Gather {
    from_first: Duration,
    from_last: Duration,
}

/// Records of one request that travel in one message.
struct Chunk {
    /// They alone are a message already; others may join them.
    message: Vec<u8>,
    /// Given back when the chunk is packed into a message.
    _room: OwnedSemaphorePermit,
    settled: oneshot::Sender<Result<(), Error>>,
}

impl Journal {
    /// The appender of one log and the task that must run for it to answer; the task ends when
    /// every clone of the appender is gone. `nonce` must never have been used for another appender: a
    /// message whose id was seen before is taken for a repetition and dropped.
    pub fn appender(
        &self,
        log: Log,
        nonce: &str,
    ) -> (Appender, impl Future<Output = ()> + Send + use<>) {
        let (queue, waiting) = mpsc::channel(WAITING_CHUNKS_MAX);
        let room = Arc::new(Semaphore::new(WAITING_BYTES_MAX));
        let subject = self.names.log_subject(log);
        let pauses = match log {
            Log::Events(_) => EVENTS_GATHER,
            Log::Outcomes(_) => OUTCOMES_GATHER,
        };
        let task = commit_groups(self.clone(), subject, nonce.to_owned(), pauses, waiting);
        (Appender { queue, room }, task)
    }
}

impl Appender {
    /// Returns once the journal has acknowledged every record. Refused at once, and nothing of it
    /// appended, if there is no room for all of it: for clients, who can send it again.
    pub async fn append(&self, frames: Frames) -> Result<(), Error> {
        let messages = frames.into_messages();
        let bytes = permits(messages.iter().map(Vec::len).sum())?;
        let room = Arc::clone(&self.room).try_acquire_many_owned(bytes);
        let mut room = room.map_err(|_| Error::Full)?;
        let mut answers = Vec::new();
        for message in messages {
            let its_room = room.split(message.len()).ok_or(Error::Full)?;
            answers.push(self.enqueue(message, its_room).await?);
        }
        all_settled(answers).await
    }

    /// The same, but waits for room: for our own work, which goes on until it is done.
    pub async fn append_patiently(&self, frames: Frames) -> Result<(), Error> {
        let mut answers = Vec::new();
        for message in frames.into_messages() {
            let room = Arc::clone(&self.room)
                .acquire_many_owned(permits(message.len())?)
                .await;
            answers.push(self.enqueue(message, room.map_err(|_| stopped())?).await?);
        }
        all_settled(answers).await
    }

    async fn enqueue(&self, message: Vec<u8>, room: OwnedSemaphorePermit) -> Result<Reply, Error> {
        let (settled, answer) = oneshot::channel();
        let chunk = Chunk {
            message,
            _room: room,
            settled,
        };
        self.queue.send(chunk).await.map_err(|_| stopped())?;
        Ok(answer)
    }
}

async fn all_settled(answers: Vec<Reply>) -> Result<(), Error> {
    let settled = answers
        .into_iter()
        .map(|answer| async { answer.await.unwrap_or_else(|_| Err(stopped())) });
    try_join_all(settled).await?;
    Ok(())
}

fn permits(bytes: usize) -> Result<u32, Error> {
    u32::try_from(bytes).map_err(|_| Error::Full)
}

fn stopped() -> Error {
    Error::timed_out("append: the appender stopped")
}

async fn commit_groups(
    journal: Journal,
    subject: String,
    nonce: String,
    pauses: Gather,
    mut waiting: mpsc::Receiver<Chunk>,
) {
    let mut left_over = None;
    let (mut number, mut next) = (0u64, Instant::now());
    loop {
        let first = match left_over.take() {
            Some(chunk) => chunk,
            None => match waiting.recv().await {
                Some(chunk) => chunk,
                None => return,
            },
        };
        let now = Instant::now();
        let at = next.max(now + pauses.from_first);
        if at > now {
            sleep_until(at).await;
        }
        next = at + pauses.from_last;
        let (message, group) = gather(first, &mut waiting, &mut left_over);
        number += 1;
        let message = PublishMessage::build()
            .payload(Bytes::from(message))
            .message_id(format!("{nonce}-{number}"))
            .header(salt::HEADER, salt::header());
        let outcome = journal.publish(&subject, message, APPEND_DEADLINE).await;
        for chunk in group {
            // A request that was given up has nobody waiting.
            let _ = chunk.send(outcome.clone());
        }
    }
}

type Group = Vec<oneshot::Sender<Result<(), Error>>>;

/// One message from `first` and whatever has arrived meanwhile and fits beside it.
fn gather(
    first: Chunk,
    waiting: &mut mpsc::Receiver<Chunk>,
    left_over: &mut Option<Chunk>,
) -> (Vec<u8>, Group) {
    let mut message = first.message;
    let mut group = vec![first.settled];
    while let Ok(chunk) = waiting.try_recv() {
        let (_version, records) = chunk.message.split_at(1);
        if message.len() + records.len() > MESSAGE_BYTES_MAX {
            *left_over = Some(chunk);
            break;
        }
        message.extend_from_slice(records);
        group.push(chunk.settled);
    }
    (message, group)
}

impl Journal {
    /// Publishes until acknowledged or out of time; the id in `message` makes a repeated try
    /// harmless.
    pub(crate) async fn publish(
        &self,
        subject: &str,
        message: PublishMessage,
        patience: Duration,
    ) -> Result<(), Error> {
        let doing = &format!("publish to {subject}");
        persist(patience, doing, || {
            self.try_to_publish(subject, message.clone(), doing)
        })
        .await
    }

    /// The same as long as a connection lasts. A server that was started anew may have stored the message before, handed
    /// it out, and forgotten its id.
    pub(crate) async fn publish_over(
        &self,
        connection: Option<Connection>,
        subject: &str,
        message: PublishMessage,
        patience: Duration,
    ) -> Result<(), Error> {
        let doing = &format!("publish to {subject}");
        persist(patience, doing, || {
            let lasts = connection.is_some() && self.connection() == connection;
            let publish = lasts.then(|| self.try_to_publish(subject, message.clone(), doing));
            async move {
                let doing = doing.clone();
                publish.ok_or(Error::Disconnected { doing })?.await
            }
        })
        .await
    }

    async fn try_to_publish(
        &self,
        subject: &str,
        message: PublishMessage,
        doing: &str,
    ) -> Result<(), Error> {
        match self.publish_once(subject, message).await {
            Ok(_) => Ok(()),
            Err(refused) if is_full(&refused) => Err(Error::NoRoom),
            Err(source) => Err(Error::unavailable(doing, source)),
        }
    }

    /// One try: sends a message and waits for the server's word on it.
    pub(crate) async fn publish_once(
        &self,
        subject: &str,
        message: PublishMessage,
    ) -> Result<PublishAck, PublishError> {
        let sent = self.context.send_publish(subject.to_owned(), message);
        sent.await?.await
    }
}

/// Whether the stream is at its bound, which trying again does not change.
fn is_full(refused: &PublishError) -> bool {
    let said = refused
        .source()
        .and_then(|cause| cause.downcast_ref::<jetstream::Error>());
    said.is_some_and(|said| {
        said.error_code() == ErrorCode::STREAM_STORE_FAILED
            && said.to_string().contains("maximum bytes exceeded")
    })
}
