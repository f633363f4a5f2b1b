//! A receiver of Watchbell deliveries: verifies, acknowledges at once, and processes afterwards.
//!
//! ```sh
//! WATCHBELL_SIGNING_SECRET=… cargo run --example receiver -- 8080
//! ```

// Watchbell's own rules for clocks, settings and tasks are about its server.
#![allow(clippy::disallowed_methods, reason = "this is a program of its own")]

use std::net::Ipv4Addr;
use std::time::SystemTime;
use std::{env, io};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use webhook_signature::{
    DELIVERY_ID_HEADER, EVENT_HEADER, NEXT_SIGNATURE_HEADER, PREVIOUS_SIGNATURE_HEADER,
    SIGNATURE_HEADER, TIMESTAMP_HEADER, Verifier,
};

/// Deliveries that are acknowledged and not yet processed. When this many wait, the next is answered
/// with 503 and Watchbell sends it again later. They are lost if the process ends: a receiver that
/// cannot afford that writes them to a database before it acknowledges.
const QUEUE_DELIVERIES_MAX: usize = 1_024;

/// Larger than any delivery.
const BODY_BYTES_MAX: usize = 256 * 1_024;

#[tokio::main]
async fn main() -> io::Result<()> {
    let secret = env::var("WATCHBELL_SIGNING_SECRET").unwrap_or_default();
    if secret.is_empty() {
        return Err(io::Error::other(
            "set WATCHBELL_SIGNING_SECRET to the signing secret",
        ));
    }
    let port = env::args().nth(1).unwrap_or_else(|| "8080".to_owned());
    let port: u16 = port
        .parse()
        .map_err(|_| io::Error::other("usage: receiver [PORT]"))?;

    let (queue, deliveries) = mpsc::channel(QUEUE_DELIVERIES_MAX);
    let processing = tokio::spawn(process(deliveries));

    let receiver = Receiver {
        verifier: Verifier::new([secret]),
        queue,
        clock: SystemTime::now,
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    announce(&format!(
        "waiting for deliveries on http://{}/",
        listener.local_addr()?
    ));
    let interrupted = async { _ = tokio::signal::ctrl_c().await };
    axum::serve(listener, router(receiver))
        .with_graceful_shutdown(interrupted)
        .await?;

    // The router and with it the sending end of the queue are gone, so this ends when all that was
    // acknowledged is processed.
    processing.await.map_err(io::Error::other)
}

#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) verifier: Verifier,
    pub(crate) queue: mpsc::Sender<Delivery>,
    pub(crate) clock: fn() -> SystemTime,
}

#[derive(Debug)]
pub(crate) struct Delivery {
    /// The same for every attempt. A delivery can arrive twice, so keep the ids you have processed.
    pub(crate) id: String,
    pub(crate) event_type: String,
    pub(crate) body: Bytes,
}

pub(crate) fn router(receiver: Receiver) -> Router {
    Router::new()
        .route("/", post(receive))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(receiver)
}

/// `body` is the raw body: it is verified before anything parses it.
async fn receive(
    State(receiver): State<Receiver>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());

    // Every signature, so that a secret can be rotated at the sender first or at the receiver first.
    let signatures = [
        SIGNATURE_HEADER,
        PREVIOUS_SIGNATURE_HEADER,
        NEXT_SIGNATURE_HEADER,
    ]
    .map(header);
    let now = (receiver.clock)();
    let verified = receiver
        .verifier
        .verify_any(header(TIMESTAMP_HEADER), &signatures, &body, now);
    if let Err(refusal) = verified {
        let status = StatusCode::from_u16(refusal.http_status()).unwrap_or(StatusCode::BAD_REQUEST);
        return (status, refusal.to_string());
    }

    let delivery = Delivery {
        id: header(DELIVERY_ID_HEADER).unwrap_or_default().to_owned(),
        event_type: header(EVENT_HEADER).unwrap_or_default().to_owned(),
        body,
    };
    match receiver.queue.try_send(delivery) {
        Ok(()) => (StatusCode::OK, String::new()),
        Err(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "busy, please send again later".to_owned(),
        ),
    }
}

/// The receiver's own work goes here. It may be slow.
async fn process(mut deliveries: mpsc::Receiver<Delivery>) {
    while let Some(delivery) = deliveries.recv().await {
        let Delivery {
            id,
            event_type,
            body,
        } = delivery;
        announce(&format!(
            "{id} {event_type} {}",
            String::from_utf8_lossy(&body)
        ));
    }
}

#[expect(
    clippy::print_stdout,
    reason = "a command line program talks to its user"
)]
fn announce(line: &str) {
    println!("{line}");
}
