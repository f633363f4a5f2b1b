//! The request of one attempt: the headers of the contract, our own beside them, and the bytes signed.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use domain::{DeliveryId, Timestamp, delivery::Cause};
use http_body_util::Full;
use hyper::{
    Request, Uri,
    body::{Body, Bytes, Frame, SizeHint},
    http::{HeaderName, HeaderValue, header, request::Builder},
};
use journal::record::Job;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

const USER_AGENT: &str = concat!("Watchbell/", env!("CARGO_PKG_VERSION"));

/// A request with every header but the signatures.
pub fn head(uri: Uri, job: &Job, signed_at: Timestamp) -> Builder {
    let matched = &job.matched;
    let request = Request::post(uri)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, USER_AGENT)
        // What is kept of the answer should be readable, and cannot grow by being unpacked.
        .header(header::ACCEPT_ENCODING, "identity")
        .header(webhook_signature::EVENT_HEADER, &matched.event_type)
        .header(webhook_signature::TIMESTAMP_HEADER, signed_at.to_string())
        .header(
            webhook_signature::DELIVERY_ID_HEADER,
            matched.delivery.to_string(),
        )
        .header("x-service-attempt", HeaderValue::from(job.attempt))
        .header("x-service-trigger", job.trigger.as_str())
        .header(
            HeaderName::from_static("traceparent"),
            traceparent(matched.delivery, job.attempt),
        );
    match matched.cause {
        Cause::Summary { suppressed } => {
            request.header("x-service-suppressed", HeaderValue::from(suppressed))
        }
        Cause::Match | Cause::Test => request,
    }
}

/// W3C trace context: the delivery is the trace and the attempt a span of it, so that whoever looks at
/// the receiver's traces finds ours, and all attempts of a delivery together. It says `sampled`, because
/// every attempt is on record here.
fn traceparent(delivery: DeliveryId, attempt: u32) -> String {
    let digest = Sha256::new()
        .chain_update(delivery.uuid().as_bytes())
        .chain_update(attempt.to_be_bytes())
        .finalize();
    let trace = delivery.uuid().simple();
    format!("00-{trace}-{}-01", hex::encode(&digest[..8]))
}

/// A body that notes when it was handed to the connection.
pub struct NotedBody {
    body: Full<Bytes>,
    handed_over: HandedOver,
}

/// When a body was handed over, if it was. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct HandedOver(Arc<OnceLock<Instant>>);

impl HandedOver {
    pub fn at(&self) -> Option<Instant> {
        self.0.get().copied()
    }
}

impl NotedBody {
    pub fn new(bytes: String) -> (Self, HandedOver) {
        let handed_over = HandedOver::default();
        let body = Self {
            body: Full::new(Bytes::from(bytes)),
            handed_over: handed_over.clone(),
        };
        (body, handed_over)
    }
}

impl Body for NotedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.handed_over.0.get_or_init(Instant::now);
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_trace_is_the_delivery_and_each_attempt_a_span_of_it() {
        let delivery = DeliveryId::from_uuid(Uuid::from_u128(0x0198_c0de_u128));
        let (first, second) = (traceparent(delivery, 1), traceparent(delivery, 2));
        let fields: Vec<&str> = first.split('-').collect();
        let [version, trace, span, flags] = fields.as_slice() else {
            panic!("{first}");
        };
        assert_eq!((*version, *flags), ("00", "01"));
        assert_eq!(*trace, "0000000000000000000000000198c0de");
        assert_eq!(span.len(), 16);
        assert_eq!(first, traceparent(delivery, 1));
        assert_eq!(second[..36], first[..36]);
        assert_ne!(second[36..], first[36..]);
    }
}
