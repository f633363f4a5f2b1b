//! The headers of a delivery that follow from what it is: written when it is sent, and again when an attempt
//! is rebuilt.

use aws_lc_rs::digest::{SHA256, digest};
use domain::{DeliveryId, Timestamp};
use hyper::http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{self, InvalidHeaderValue},
};
use webhook_signature::{DELIVERY_ID_HEADER, EVENT_HEADER, TIMESTAMP_HEADER};

const ATTEMPT_HEADER: &str = "x-service-attempt";
const TRIGGER_HEADER: &str = "x-service-trigger";
const SUPPRESSED_HEADER: &str = "x-service-suppressed";
const TRACE_HEADER: &str = "traceparent";

/// What the headers of one attempt say.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    pub delivery: DeliveryId,
    pub event_type: &'a str,
    pub signed_at: Timestamp,
    pub attempt: u32,
    pub trigger: &'a str,
    /// Of a summary: how many alerts it stands for.
    pub suppressed: Option<u32>,
}

impl Head<'_> {
    pub fn headers(&self) -> Result<HeaderMap, InvalidHeaderValue> {
        let suppressed = self.suppressed.map(HeaderValue::from);
        let named = [
            (EVENT_HEADER, HeaderValue::from_str(self.event_type)?),
            (
                TIMESTAMP_HEADER,
                HeaderValue::from_str(&self.signed_at.to_string())?,
            ),
            (
                DELIVERY_ID_HEADER,
                HeaderValue::from_str(self.delivery.text().as_str())?,
            ),
            (ATTEMPT_HEADER, HeaderValue::from(self.attempt)),
            (TRIGGER_HEADER, HeaderValue::from_str(self.trigger)?),
            (TRACE_HEADER, HeaderValue::from_str(&self.traceparent())?),
        ];
        let suppressed = suppressed.map(|value| (SUPPRESSED_HEADER, value));
        let mut headers: HeaderMap = named
            .into_iter()
            .chain(suppressed)
            .map(|(name, value)| (HeaderName::from_static(name), value))
            .collect();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        Ok(headers)
    }
    /// W3C trace context: the delivery is the trace and the attempt a span of it, so that whoever looks
    /// at the receiver's traces finds ours, and all attempts of a delivery together. It says `sampled`,
    /// because every attempt is on record here.
    fn traceparent(&self) -> String {
        let uuid = self.delivery.uuid();
        let mut attempt = [0; 20];
        attempt[..16].copy_from_slice(uuid.as_bytes());
        attempt[16..].copy_from_slice(&self.attempt.to_be_bytes());
        let digest = digest(&SHA256, &attempt);
        let span = hex::encode(&digest.as_ref()[..8]);
        format!("00-{}-{span}-01", uuid.simple())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_trace_is_the_delivery_and_each_attempt_a_span_of_it() {
        let trace = |attempt| {
            let head = Head {
                delivery: DeliveryId::from_uuid(Uuid::from_u128(0x0198_c0de)),
                event_type: "tool_call",
                signed_at: Timestamp::default(),
                attempt,
                trigger: "match",
                suppressed: None,
            };
            head.traceparent()
        };
        let (first, second) = (trace(1), trace(2));
        let (before, span) = first.split_at(36);
        assert_eq!(before, "00-0000000000000000000000000198c0de-");
        assert_eq!((span.len(), &span[16..]), (19, "-01"));
        assert_eq!(first, trace(1));
        assert!(second.starts_with(before));
        assert_ne!(second, first);
    }
}
