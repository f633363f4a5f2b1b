//! The headers of a delivery that follow from what it is: written when it is sent, and again when an attempt
//! is rebuilt.

use domain::{DeliveryId, Timestamp};
use hyper::http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{self, InvalidHeaderValue},
};
use webhook_signature::{DELIVERY_ID_HEADER, EVENT_HEADER, TIMESTAMP_HEADER};

const ATTEMPT_HEADER: &str = "x-service-attempt";
const TRIGGER_HEADER: &str = "x-service-trigger";
const SUPPRESSED_HEADER: &str = "x-service-suppressed";

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
}
