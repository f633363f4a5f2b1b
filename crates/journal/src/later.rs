//! A delivery that waits: published with its due time, it holds no slot and no un-acked message.

use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;

use crate::{
    Error, Journal,
    record::{self, Job},
};

impl Journal {
    /// Queues a delivery for `job.due_at`; the server puts it among the due ones then. Queued again
    /// (a worker died before settling) it is recognised.
    pub async fn deliver_later(&self, job: &Job) -> Result<(), Error> {
        let message = PublishMessage::build()
            .payload(Bytes::from(record::message(job)))
            .message_id(format!("{}-{}", job.delivery, job.attempt))
            .header("Nats-Schedule", format!("@at {}", job.due_at).as_str())
            .header("Nats-Schedule-Target", self.names.due_subject().as_str());
        self.publish(&self.names.later_subject(&job.delivery.to_string()), message).await
    }
}
