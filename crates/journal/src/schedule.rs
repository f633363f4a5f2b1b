//! A delivery that waits for its time: published with it, it holds no slot and no un-acked message.

use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;

use crate::{
    Error, Journal,
    append::APPEND_DEADLINE,
    queue::{attempt_id, moved},
    record::{self, Job},
    work_queue::Task,
};

impl Journal {
    /// Queues a delivery for `job.due_at`, of a message that was taken or a new one; the server puts it among
    /// the due ones then. Queued again (a worker died before settling) it is recognized. What waited for the same round
    /// of a delivery is replaced, so the name is that of the message it comes from: a name that was used for what
    /// was replaced would be taken for a repetition, and nothing would wait. What waits for another round stays: a send
    /// that was under way when that began must not replace it.
    pub async fn deliver_later(&self, from: Option<&Task>, job: &Job) -> Result<(), Error> {
        let partition = self.partitions().of(job.matched.org);
        let from = from.map(moved).transpose()?.unwrap_or_default();
        let target = self.names.due_subject(partition);
        let message = PublishMessage::build()
            .payload(Bytes::from(record::message_of_jobs(&[job])))
            .message_id(format!("{from}{}", attempt_id(job)))
            .header("Nats-Schedule", format!("@at {}", job.due_at).as_str())
            .header("Nats-Schedule-Target", target.as_str());
        let round = format!("{}-{}", job.matched.delivery, job.since.unix_millis());
        let subject = self.names.later_subject(partition, &round);
        self.publish(&subject, message, APPEND_DEADLINE).await
    }
}
