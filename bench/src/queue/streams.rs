//! Work-queue streams as the journal has them, one or several, with nothing of ours in front.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use anyhow::Context as _;
use async_nats::jetstream::{
    self,
    consumer::{AckPolicy, Consumer, pull},
    message::PublishMessage,
    stream,
};
use bytes::Bytes;
use domain::Timestamp;

/// As the journal recognizes a delivery queued again.
const DEDUPE: Duration = Duration::from_secs(120);
/// As long as a worker has to settle.
const SETTLE: Duration = Duration::from_secs(16);

/// Far more than there are lanes at a time.
const CONSUMERS_MAX: i32 = 1_000_000;

pub(super) struct Streams {
    pub(super) context: jetstream::Context,
    count: usize,
    turn: AtomicUsize,
    id: AtomicUsize,
}

impl Streams {
    pub(super) async fn make(url: &str, count: usize) -> anyhow::Result<Self> {
        let context = jetstream::new(async_nats::connect(url).await?);
        for index in 0..count {
            let config = stream::Config {
                name: format!("q{index}"),
                subjects: vec![
                    format!("q{index}.due"),
                    format!("q{index}.later.*"),
                    format!("q{index}.lane.*"),
                ],
                retention: stream::RetentionPolicy::WorkQueue,
                storage: stream::StorageType::File,
                duplicate_window: DEDUPE,
                // The server's own default is too few for a lane of each endpoint.
                max_consumers: CONSUMERS_MAX,
                allow_message_schedules: true,
                allow_message_ttl: true,
                allow_rollup: true,
                ..stream::Config::default()
            };
            context.create_stream(config).await?;
        }
        Ok(Self {
            context,
            count,
            turn: AtomicUsize::new(0),
            id: AtomicUsize::new(0),
        })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The streams in turn.
    pub(super) fn next(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed) % self.count
    }

    /// Publishes to one of the streams below `subject`; returns when the server has it on disk.
    pub(super) async fn publish(&self, subject: &str, payload: Bytes) -> anyhow::Result<()> {
        let subject = format!("q{}.{subject}", self.next());
        self.send(subject, PublishMessage::build().payload(payload))
            .await
    }

    /// Publishes what is to be among the due at `due`.
    pub(super) async fn publish_later(&self, due: Timestamp, payload: Bytes) -> anyhow::Result<()> {
        let (stream, id) = (self.next(), self.id.fetch_add(1, Ordering::Relaxed));
        let message = PublishMessage::build()
            .payload(payload)
            .header("Nats-Schedule", format!("@at {due}").as_str())
            .header("Nats-Schedule-Target", format!("q{stream}.due").as_str());
        self.send(format!("q{stream}.later.dlv_{id:024}"), message)
            .await
    }

    async fn send(&self, subject: String, message: PublishMessage) -> anyhow::Result<()> {
        let id = self.id.fetch_add(1, Ordering::Relaxed);
        let message = message.message_id(format!("dlv_{id:024}-1"));
        self.context
            .send_publish(subject, message)
            .await?
            .await
            .map(drop)
            .context("publish")
    }

    /// The consumer of what is due in one stream.
    pub(super) async fn due(&self, stream: usize) -> anyhow::Result<Consumer<pull::Config>> {
        self.consumer(stream, "due", "due").await
    }

    pub(super) async fn consumer(
        &self,
        stream: usize,
        name: &str,
        subject: &str,
    ) -> anyhow::Result<Consumer<pull::Config>> {
        let config = pull::Config {
            durable_name: Some(name.to_owned()),
            filter_subject: format!("q{stream}.{subject}"),
            ack_policy: AckPolicy::Explicit,
            ack_wait: SETTLE,
            max_ack_pending: 16 * 1024,
            ..pull::Config::default()
        };
        let made = self
            .context
            .create_consumer_on_stream(config, format!("q{stream}"));
        Ok(made.await?)
    }

    /// Messages in all streams.
    pub(super) async fn held(&self) -> anyhow::Result<u64> {
        let mut held = 0;
        for index in 0..self.count {
            held += self
                .context
                .get_stream(format!("q{index}"))
                .await?
                .cached_info()
                .state
                .messages;
        }
        Ok(held)
    }
}
