//! A delivery that waits: published with its due time, it holds no slot and no un-acked message.

use crate::{Error, Journal, append::APPEND_DEADLINE, record::Job, work};

impl Journal {
    /// Queues a delivery for `job.due_at`; the server puts it among the due ones then. Queued again
    /// (a worker died before settling) it is recognised.
    pub async fn deliver_later(&self, job: &Job) -> Result<(), Error> {
        let message = work::message(job)
            .header("Nats-Schedule", format!("@at {}", job.due_at).as_str())
            .header("Nats-Schedule-Target", self.names.due_subject().as_str());
        self.publish(
            &self.names.later_subject(&job.matched.delivery.to_string()),
            message,
            APPEND_DEADLINE,
        )
        .await
    }
}
