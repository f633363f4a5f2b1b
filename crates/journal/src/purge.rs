//! Forgets an organization that was deleted: what it has here by its own name and nothing in PostgreSQL lists.
//!
//! Keys, rules, policies and signing secrets are announced as gone like every change of theirs. Endpoints in trouble, whose
//! endpoints are, and approvals are changed by whoever learns something of them, so they are found by asking the stream. Each
//! gets an empty value, as everything that is gone has. Lanes of an endpoint that is not in trouble any more, and those where no
//! rule goes, are taken from, so that nothing waits in them; nodes hold an approval until its time is over, without its question,
//! and then find it gone.

use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use domain::OrgId;
use futures::{TryStreamExt, stream};

use crate::{
    Error, Journal,
    kv::Change,
    queue::QUEUE_AT_ONCE,
    retry::{CLIENT_PATIENCE, persist},
    streams::Bucket,
};

impl Change {
    /// The organization has no policies any more.
    pub fn guard_gone(org: OrgId) -> Self {
        Self {
            bucket: Bucket::Guards,
            key: org.to_string(),
            value: None,
        }
    }

    /// The organization has no signing secrets any more.
    pub fn secrets_gone(org: OrgId) -> Self {
        Self {
            bucket: Bucket::Secrets,
            key: org.to_string(),
            value: None,
        }
    }
}

impl Journal {
    /// Empties the values of an organization's endpoints, of whose they are, and of its approvals. Doing it again changes nothing.
    pub async fn forget_organization(&self, org: OrgId) -> Result<(), Error> {
        for bucket in [Bucket::Endpoints, Bucket::Ownership, Bucket::Approvals] {
            let subjects = self.subjects_of(bucket, org).await?;
            let empty = async |subject: String| {
                let message = PublishMessage::build().payload(Bytes::new());
                self.publish(&subject, message, CLIENT_PATIENCE).await
            };
            stream::iter(subjects.into_iter().map(Ok))
                .try_for_each_concurrent(QUEUE_AT_ONCE, empty)
                .await?;
        }
        Ok(())
    }

    /// Where values of an organization are, or were.
    async fn subjects_of(&self, bucket: Bucket, org: OrgId) -> Result<Vec<String>, Error> {
        let doing = "list the values of an organization";
        let all = &self.names.bucket_subject(bucket, &format!("{org}.*"));
        persist(CLIENT_PATIENCE, doing, || async move {
            let stream = self
                .context
                .get_stream_no_info(self.names.bucket_stream(bucket))
                .await
                .map_err(|source| Error::unavailable(doing, source))?;
            let subjects = stream
                .info_with_subjects(all)
                .await
                .map_err(|source| Error::unavailable(doing, source))?;
            subjects
                .map_ok(|(subject, _)| subject)
                .map_err(|source| Error::unavailable(doing, source))
                .try_collect()
                .await
        })
        .await
    }
}
