//! A delivery that waits for its time: published with it, it holds no slot and no un-acked message.

use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;

use crate::{
    Error, Journal,
    append::APPEND_DEADLINE,
    queue::attempt_id,
    record::{self, Job},
};

impl Journal {
    /// Queues a delivery for `job.due_at`; the server puts it among the due ones then. Queued again
    /// (a worker died before settling) it is recognised.
    pub async fn deliver_later(&self, job: &Job) -> Result<(), Error> {
        let partition = self.partitions().of(job.matched.org);
        let target = self.names.due_subject(partition);
        let message = PublishMessage::build()
            .payload(Bytes::from(record::message(job)))
            .message_id(attempt_id(job))
            .header("Nats-Schedule", format!("@at {}", job.due_at).as_str())
            .header("Nats-Schedule-Target", target.as_str());
        let delivery = job.matched.delivery.to_string();
        let subject = self.names.later_subject(partition, &delivery);
        self.publish(&subject, message, APPEND_DEADLINE).await
    }
}
