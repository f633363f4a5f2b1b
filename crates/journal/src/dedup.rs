//! What must happen once: marks that only the first writer makes, on whichever node it is.
//!
//! A mark is a message on a subject of its own, published on the condition that there is none yet. It
//! says who made it, so that the same writer, coming back after a crash, knows its own mark. Marks run
//! out with their stream. A value is JSON with its version in front, as in [`config`](crate::kv).

use async_nats::jetstream::{
    context::PublishErrorKind, message::PublishMessage, stream::LastRawMessageErrorKind,
};
use bytes::Bytes;
use domain::{DeliveryId, Timestamp, idempotency::RequestName, partition::Partition};
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Journal,
    kv::{from_json, to_json},
    queue::QUEUE_AT_ONCE,
    retry::{CLIENT_PATIENCE, persist},
    streams::Marks,
};

/// What is known of a request that has a name: enough to do the very same again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestMark {
    /// What the request said; another body under the same name is a mistake.
    pub fingerprint: String,
    /// When it came first: its events are received then, however often it is sent.
    pub received_at: Timestamp,
}

/// The message of events that a delivery is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertMark {
    pub partition: u16,
    /// When the log was made, as [`crate::log_state::LogState::created`] says.
    pub created: String,
    pub sequence: u64,
}

impl AlertMark {
    pub fn new(partition: Partition, created: &str, sequence: u64) -> Self {
        Self {
            partition: partition.index(),
            created: created.to_owned(),
            sequence,
        }
    }

    /// Whether the mark that was there before says that another message set off the alert. One of a log that was
    /// lost, and maybe its alerts with it, does not: twice is better than never.
    pub fn is_kept_back_by(&self, before: &Self) -> bool {
        before != self && before.created == self.created
    }
}

impl Journal {
    /// Marks a request; returns the mark that somebody made before, if there is one.
    pub async fn mark_request(
        &self,
        name: &RequestName,
        mark: &RequestMark,
    ) -> Result<Option<RequestMark>, Error> {
        match self.mark(Marks::Requests, &name.to_hex(), mark).await? {
            Some(before) => read_request_mark(&before),
            None => Ok(None),
        }
    }

    /// The mark of a request, if it was marked.
    pub async fn request_mark(&self, name: &RequestName) -> Result<Option<RequestMark>, Error> {
        let doing = "look up a request";
        let found = persist(CLIENT_PATIENCE, doing, || async {
            self.find_mark(Marks::Requests, &name.to_hex(), doing).await
        });
        match found.await? {
            Some(mark) => read_request_mark(&mark),
            None => Ok(None),
        }
    }

    /// Marks deliveries, each as that of a message of events; says of each whether it is, or whether it
    /// was another message's before.
    pub async fn mark_alerts(
        &self,
        alerts: &[(DeliveryId, AlertMark)],
    ) -> Result<Vec<bool>, Error> {
        let is_ours = async |(delivery, mark): &(DeliveryId, AlertMark)| {
            let name = delivery.to_string();
            let before = self.mark(Marks::Alerts, &name, mark).await?;
            // One that we cannot read keeps no alert back.
            let before = before.and_then(|before| read_alert_mark(&before).ok().flatten());
            Ok(before.is_none_or(|before| !mark.is_kept_back_by(&before)))
        };
        let marked = stream::iter(alerts.iter().map(is_ours)).buffered(QUEUE_AT_ONCE);
        marked.try_collect().await
    }

    /// Makes a mark unless there is one; returns that one, unless it says the same.
    async fn mark(
        &self,
        marks: Marks,
        name: &str,
        mark: &(impl Serialize + Sync),
    ) -> Result<Option<Bytes>, Error> {
        let doing = &format!("mark {name}");
        let (subject, value) = (self.names.mark_subject(marks, name), to_json(mark));
        persist(CLIENT_PATIENCE, doing, || async {
            let message = PublishMessage::build()
                .payload(Bytes::from(value.clone()))
                .expected_last_subject_sequence(0);
            match self.publish_once(&subject, message).await {
                Ok(_) => Ok(None),
                Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {
                    let before = self.find_mark(marks, name, doing).await?;
                    // Not there yet: whoever was first is still being acknowledged.
                    let before = before.ok_or_else(|| Error::unavailable(doing, error))?;
                    Ok((before != value).then_some(before))
                }
                Err(error) => Err(Error::unavailable(doing, error)),
            }
        })
        .await
    }

    async fn find_mark(
        &self,
        marks: Marks,
        name: &str,
        doing: &str,
    ) -> Result<Option<Bytes>, Error> {
        let stream = self
            .context
            .get_stream_no_info(self.names.marks_stream(marks))
            .await
            .map_err(|source| Error::unavailable(doing, source))?;
        let subject = self.names.mark_subject(marks, name);
        match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => Ok(Some(message.payload)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(source) => Err(Error::unavailable(doing, source)),
        }
    }
}

/// A request's mark as written.
pub fn read_request_mark(json: &[u8]) -> Result<Option<RequestMark>, Error> {
    from_json("request mark", json)
}

/// A delivery's mark as written.
pub fn read_alert_mark(json: &[u8]) -> Result<Option<AlertMark>, Error> {
    from_json("alert mark", json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_today_is_version_1_to_the_byte() {
        let request = RequestMark {
            fingerprint: "00ff".repeat(16),
            received_at: Timestamp::from_unix_millis(1_794_735_000_125),
        };
        let alert = AlertMark {
            partition: 3,
            created: "1794735000125000000".to_owned(),
            sequence: 4_711,
        };
        let golden = include_str!("../golden/request.v1.json");
        assert_eq!(to_json(&request), golden);
        assert_eq!(
            read_request_mark(golden.as_bytes()).expect("readable"),
            Some(request)
        );
        let golden = include_str!("../golden/alert.v1.json");
        assert_eq!(to_json(&alert), golden);
        assert_eq!(
            read_alert_mark(golden.as_bytes()).expect("readable"),
            Some(alert)
        );
    }
}
