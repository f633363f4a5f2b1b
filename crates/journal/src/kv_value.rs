//! One value of a bucket: read as the leader has it, and changed by comparing and setting it.

use async_nats::jetstream::{
    context::PublishErrorKind, message::PublishMessage, stream::LastRawMessageErrorKind,
};
use bytes::Bytes;

use crate::{Error, Journal, streams::Bucket};

/// A value as the journal has it.
pub(crate) struct Value {
    /// Empty if the thing is gone.
    pub json: Bytes,
    /// What it must be to be changed.
    pub revision: u64,
}

impl Journal {
    /// One try to read a value; `None` if there never was one.
    pub(crate) async fn value(
        &self,
        bucket: Bucket,
        key: &str,
        doing: &str,
    ) -> Result<Option<Value>, Error> {
        let stream = self
            .context
            .get_stream_no_info(self.names.bucket_stream(bucket))
            .await
            .map_err(|source| Error::unavailable(doing, source))?;
        let subject = self.names.bucket_subject(bucket, key);
        match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => Ok(Some(Value {
                json: message.payload,
                revision: message.sequence,
            })),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(source) => Err(Error::unavailable(doing, source)),
        }
    }

    /// One try to set a value if it still is as it was at `revision` (0: there was none); the revision that it
    /// has then, or `None` if somebody else changed it meanwhile.
    pub(crate) async fn set_value(
        &self,
        bucket: Bucket,
        key: &str,
        json: String,
        revision: u64,
        doing: &str,
    ) -> Result<Option<u64>, Error> {
        let subject = self.names.bucket_subject(bucket, key);
        let message = PublishMessage::build()
            .payload(Bytes::from(json))
            .expected_last_subject_sequence(revision);
        match self.publish_once(&subject, message).await {
            Ok(acknowledged) => Ok(Some(acknowledged.sequence)),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(None),
            Err(error) => Err(Error::unavailable(doing, error)),
        }
    }
}
