//! The example receiver over HTTP: 200, 400 and 401 as the service specification says in 5.2.8.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use webhook_signature::{Verifier, sign};

use receiver::{Delivery, Receiver, router};

#[path = "../examples/receiver.rs"]
#[allow(
    dead_code,
    reason = "the example's main function and its processing are not used here"
)]
mod receiver;

const SECRET: &str = "k7Jt2vQ9xWmB4rYc8nHs5dLg";
const NOON: &str = "2026-01-15T12:00:00.000Z";
const NOON_UNIX_SECONDS: u64 = 1_768_478_400;
const AN_HOUR_EARLIER: &str = "2026-01-15T11:00:00.000Z";
const BODY: &[u8] = br#"{"rule_id":"rul_1"}"#;

#[tokio::test]
async fn a_signed_delivery_is_acknowledged_and_handed_over() {
    let (address, mut deliveries) = start(1).await;
    let signature = sign(SECRET.as_bytes(), NOON, BODY);
    let status = send(
        address,
        &[("X-Service-Timestamp", NOON), signed(&signature)],
        BODY,
    )
    .await;
    assert_eq!(status, 200);

    let delivery = deliveries
        .recv()
        .await
        .expect("the delivery is in the queue");
    assert_eq!(delivery.body, BODY);
    assert_eq!(
        (delivery.id.as_str(), delivery.event_type.as_str()),
        ("del_1", "tool_call")
    );
}

#[tokio::test]
async fn a_stale_missing_or_unreadable_timestamp_is_answered_with_400() {
    let (address, mut deliveries) = start(1).await;
    let stale = sign(SECRET.as_bytes(), AN_HOUR_EARLIER, BODY);
    let headers = [("X-Service-Timestamp", AN_HOUR_EARLIER), signed(&stale)];
    assert_eq!(send(address, &headers, BODY).await, 400);

    let signature = sign(SECRET.as_bytes(), NOON, BODY);
    assert_eq!(send(address, &[signed(&signature)], BODY).await, 400);
    assert_eq!(
        send(
            address,
            &[("X-Service-Timestamp", "noon"), signed(&signature)],
            BODY
        )
        .await,
        400
    );
    assert_eq!(
        send(
            address,
            &[("X-Service-Timestamp", "ñ"), signed(&signature)],
            BODY
        )
        .await,
        400
    );
    assert!(
        deliveries.try_recv().is_err(),
        "a refused delivery was handed over"
    );
}

#[tokio::test]
async fn a_wrong_or_missing_signature_is_answered_with_401() {
    let (address, mut deliveries) = start(1).await;
    let at = ("X-Service-Timestamp", NOON);
    assert_eq!(send(address, &[at], BODY).await, 401);

    let forged = sign(b"another secret", NOON, BODY);
    assert_eq!(send(address, &[at, signed(&forged)], BODY).await, 401);

    let signature = sign(SECRET.as_bytes(), NOON, BODY);
    let reserialized = br#"{"rule_id": "rul_1"}"#;
    assert_eq!(
        send(address, &[at, signed(&signature)], reserialized).await,
        401
    );

    let not_text = b"{\"rule_id\":\"\xff\"}";
    let signature = sign(SECRET.as_bytes(), NOON, not_text);
    assert_eq!(
        send(address, &[at, signed(&signature)], not_text).await,
        401
    );
    assert!(
        deliveries.try_recv().is_err(),
        "a refused delivery was handed over"
    );
}

#[tokio::test]
async fn the_previous_signature_is_enough_while_the_secret_is_rotated() {
    let (address, _deliveries) = start(1).await;
    let current = sign(b"the new secret", NOON, BODY);
    let previous = sign(SECRET.as_bytes(), NOON, BODY);
    let previous = ("X-Service-Signature-Previous", previous.as_str());
    let headers = [("X-Service-Timestamp", NOON), signed(&current), previous];
    assert_eq!(send(address, &headers, BODY).await, 200);
}

#[tokio::test]
async fn a_full_queue_asks_the_sender_to_come_back() {
    let (address, mut deliveries) = start(1).await;
    let signature = sign(SECRET.as_bytes(), NOON, BODY);
    let headers = [("X-Service-Timestamp", NOON), signed(&signature)];
    assert_eq!(send(address, &headers, BODY).await, 200);
    assert_eq!(send(address, &headers, BODY).await, 503);

    assert!(deliveries.recv().await.is_some());
    assert_eq!(send(address, &headers, BODY).await, 200);
}

/// Starts the receiver on a free port, at noon, with room for `queue_deliveries` in its queue.
async fn start(queue_deliveries: usize) -> (SocketAddr, mpsc::Receiver<Delivery>) {
    let (queue, deliveries) = mpsc::channel(queue_deliveries);
    let receiver = Receiver {
        verifier: Verifier::new([SECRET]),
        queue,
        clock: noon,
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("the listener is bound");
    #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
    tokio::spawn(async move { axum::serve(listener, router(receiver)).await });
    (address, deliveries)
}

fn noon() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOON_UNIX_SECONDS)
}

fn signed(signature: &str) -> (&'static str, &str) {
    ("X-Service-Signature", signature)
}

/// Sends a delivery as the service does and returns the status. Written by hand, so that the tests
/// of a small library need no HTTP client.
async fn send(address: SocketAddr, headers: &[(&str, &str)], body: &[u8]) -> u16 {
    let mut request = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\
         X-Service-Event: tool_call\r\nX-Service-Delivery-Id: del_1\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.extend([name, ": ", value, "\r\n"]);
    }
    request.push_str("\r\n");

    let mut stream = TcpStream::connect(address)
        .await
        .expect("the receiver listens");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("the receiver reads");
    stream.write_all(body).await.expect("the receiver reads");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .await
        .expect("the receiver answers");
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    status.expect("the answer starts with a status line")
}
