//! What a receiver keeps of what arrives: everything, or just enough to count by.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode, Uri};
use tokio::sync::watch;

use crate::answer::{Answer, Script};

/// One request, exactly as received.
#[derive(Debug)]
pub struct Received {
    /// Who sent it.
    pub peer: SocketAddr,
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// The bytes that were signed.
    pub body: Bytes,
    /// When the whole body was there.
    pub arrived: Instant,
    pub arrived_at: SystemTime,
    /// The status that it was, or will be, answered with.
    pub answered: StatusCode,
}

/// What is kept of one request when a million are expected.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub delivery_id: Box<str>,
    pub attempt: u32,
    pub at: Instant,
    pub answered: StatusCode,
}

/// What the thread that answers and the test share.
#[derive(Debug)]
pub(crate) struct Log {
    pub(crate) keeps: Keeps,
    kept: Mutex<Kept>,
    /// How many have been received, for who waits.
    pub(crate) count: watch::Sender<usize>,
    pub(crate) connections: AtomicUsize,
    /// Bytes of answers that came piece by piece.
    pub(crate) handed_over: Arc<AtomicU64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    Everything,
    Arrivals,
}

#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) received: Vec<Arc<Received>>,
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) script: Script,
}

impl Received {
    /// The value of a header, if it is there once and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(first)
    }

    /// The same for all attempts of one delivery.
    pub fn delivery_id(&self) -> Option<&str> {
        self.header("x-service-delivery-id")
    }

    /// The body as JSON; `Null` when it is not.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn rule_id(&self) -> Option<String> {
        Some(self.json()["rule_id"].as_str()?.to_owned())
    }

    pub fn event_id(&self) -> Option<String> {
        Some(self.json()["event"]["id"].as_str()?.to_owned())
    }

    fn arrival(&self) -> Arrival {
        let attempt = self.header("x-service-attempt");
        Arrival {
            delivery_id: self.delivery_id().unwrap_or_default().into(),
            attempt: attempt.and_then(|text| text.parse().ok()).unwrap_or(0),
            at: self.arrived,
            answered: self.answered,
        }
    }
}

impl Log {
    pub(crate) fn new(keeps: Keeps) -> Self {
        Self {
            keeps,
            kept: Mutex::default(),
            count: watch::Sender::new(0),
            connections: AtomicUsize::new(0),
            handed_over: Arc::default(),
        }
    }

    /// Keeps a request, and says how it is to be answered.
    pub(crate) fn keep(&self, peer: SocketAddr, head: Parts, body: Bytes) -> Answer {
        let mut received = Received {
            peer,
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body,
            arrived: Instant::now(),
            #[expect(
                clippy::disallowed_methods,
                reason = "it is compared with signed times"
            )]
            arrived_at: SystemTime::now(),
            answered: StatusCode::OK,
        };
        let mut kept = self.lock();
        let answer = kept.script.next(&received);
        received.answered = answer.status;
        kept.arrivals.push(received.arrival());
        if self.keeps == Keeps::Everything {
            kept.received.push(Arc::new(received));
        }
        let count = kept.arrivals.len();
        drop(kept);
        // Requests are handled on one thread, so counts are published in order.
        self.count.send_replace(count);
        answer
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept
            .lock()
            .expect("the chooser of the test panicked; its message is above")
    }
}
