//! What happens when a receiver does not say yes: tried again on schedule, signed afresh, all of it
//! on record.

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::Timestamp;
use serde_json::{Value, json};
use testkit::{Answer, Received, Receiver, eventually};
use webhook_signature::Verifier;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, SECRET, event};

/// What one delivery came to, for a receiver that answers as it was told to.
async fn delivered_to(customer: &Customer, url: &str, state: &str) -> Value {
    let rule = customer.rule(json!({}), url).await;
    customer.ingest(&event("agent-1")).await;
    let delivery = eventually(DEADLINE, "its delivery is on record", async || {
        let deliveries = customer.all_deliveries().await;
        deliveries.into_iter().find(|one| one["rule_id"] == rule)
    })
    .await;
    let id = delivery["id"].as_str().expect("an id");
    customer.delivery_in_state(id, state).await
}

fn time(value: &Value) -> Timestamp {
    let text = value.as_str().expect("a time");
    Timestamp::parse(text).expect("a time")
}

fn verify(received: &Received) {
    let verified = Verifier::new([SECRET]).verify(
        received.header("x-service-timestamp"),
        received.header("x-service-signature"),
        &received.body,
        received.arrived_at,
    );
    assert_eq!(verified, Ok(()));
}

#[tokio::test]
async fn a_failed_delivery_is_sent_again_after_a_second_signed_afresh() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_sequence([500]);
    customer.rule(json!({}), &receiver.url()).await;
    customer.ingest(&event("agent-1")).await;

    let received = receiver.wait_for(2, DEADLINE).await;
    let [first, second] = received.as_slice() else {
        panic!("{} deliveries", received.len());
    };
    // Asked for: 1 s and up to a tenth. Times on record are cut to milliseconds.
    let waited = second.arrived - first.arrived;
    assert!(waited >= Duration::from_millis(999), "{waited:?}");
    assert!(waited <= Duration::from_millis(1_100 + 900), "{waited:?}");

    assert_eq!(first.delivery_id(), second.delivery_id());
    assert_eq!(first.header("x-service-attempt"), Some("1"));
    assert_eq!(second.header("x-service-attempt"), Some("2"));
    assert_eq!(first.header("x-service-trigger"), Some("match"));
    assert_eq!(second.header("x-service-trigger"), Some("retry"));
    for name in [
        "x-service-timestamp",
        "x-service-signature",
        "webhook-signature",
    ] {
        assert_ne!(first.header(name), second.header(name), "{name}");
    }
    for received in [first, second] {
        verify(received);
        assert_eq!(
            received.json()["timestamp"].as_str(),
            received.header("x-service-timestamp")
        );
    }
    assert_eq!(first.json()["event"], second.json()["event"]);

    let id = first.delivery_id().expect("an id");
    let delivery = customer.delivery_in_state(id, "delivered").await;
    assert_eq!(delivery["attempts"], 2);
    assert_eq!(delivery["next_at"], Value::Null);
    let log = delivery["attempt_log"].as_array().expect("attempts");
    assert_eq!(log.len(), 2);
    let expected = [
        (first, 1, 500, "transient", "match"),
        (second, 2, 200, "delivered", "retry"),
    ];
    for (attempt, (received, number, status, outcome, trigger)) in log.iter().zip(expected) {
        assert_eq!(attempt["number"], number);
        assert_eq!(attempt["status"], status);
        assert_eq!(attempt["outcome"], outcome);
        assert_eq!(attempt["trigger"], trigger);
        assert_eq!(
            attempt["signed_at"].as_str(),
            received.header("x-service-timestamp")
        );
        assert_eq!(attempt["body_bytes"], received.body.len());
        let digest = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(&received.body));
        assert_eq!(attempt["body_sha256"], digest);
        assert_eq!(attempt["remote_address"], receiver.address().to_string());
    }
    let due = time(&log[1]["due_at"]);
    let wait = due.since(time(&log[0]["finished_at"]));
    assert!((1_000..=1_100).contains(&wait.as_millis()), "{wait:?}");
    assert!(
        time(&log[1]["started_at"]) >= due,
        "never earlier than asked"
    );
}

#[tokio::test]
async fn a_delivery_that_waits_says_until_when() {
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_with(503);
    let delivery = delivered_to(&running.customer, &receiver.url(), "scheduled").await;
    let next = time(&delivery["next_at"]);
    let finished = time(&delivery["attempt_log"][0]["finished_at"]);
    assert!(next.since(finished) >= Duration::from_secs(1));
    let error = delivery["attempt_log"][0]["error"].as_str();
    assert!(error.expect("an error").contains("503"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let running = Running::start(Deployment::new());
    let elsewhere = Receiver::start().expect("a receiver");
    for status in [302, 308] {
        let receiver = Receiver::start().expect("a receiver");
        let location = elsewhere.url();
        let mut answered = 0;
        receiver.answer_by(move |_| {
            answered += 1;
            let redirect = Answer::status(status).header("location", &location);
            if answered == 1 {
                redirect
            } else {
                Answer::status(200)
            }
        });
        let delivery = delivered_to(&running.customer, &receiver.url(), "delivered").await;
        let log = delivery["attempt_log"].as_array().expect("attempts");
        assert_eq!(log[0]["status"], status);
        assert_eq!(log[0]["outcome"], "redirect");
        assert!(
            log[0]["error"]
                .as_str()
                .expect("an error")
                .contains("never followed")
        );
        assert_eq!(log[1]["status"], 200);
    }
    assert_eq!(elsewhere.count(), 0);
}

#[tokio::test]
async fn a_receiver_that_finds_the_body_too_large_is_not_asked_again() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_with(413);
    let delivery = delivered_to(customer, &receiver.url(), "failed").await;
    assert_eq!(delivery["attempts"], 1);
    assert_eq!(delivery["next_at"], Value::Null);
    assert_eq!(delivery["attempt_log"][0]["outcome"], "permanent");

    // While another one is tried again, this one is not.
    receiver.answer_sequence([500]);
    customer.ingest(&event("agent-2")).await;
    receiver.wait_for(3, DEADLINE).await;
    let id = delivery["id"].as_str();
    assert_eq!(
        receiver.received_where(|one| one.delivery_id() == id).len(),
        1
    );
}

#[tokio::test]
async fn any_status_from_200_to_299_is_a_yes() {
    let running = Running::start(Deployment::new());
    for status in [200, 201, 202, 204, 299] {
        let receiver = Receiver::start().expect("a receiver");
        receiver.answer_with(status);
        let delivery = delivered_to(&running.customer, &receiver.url(), "delivered").await;
        assert_eq!(delivery["attempts"], 1);
        assert_eq!(delivery["attempt_log"][0]["status"], status);
    }
}

#[tokio::test]
async fn a_receiver_that_comes_up_late_gets_its_delivery() {
    let running = Running::start(Deployment::new());
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    drop(taken);
    let url = format!("http://{address}/hook");
    let delivery = delivered_to(&running.customer, &url, "scheduled").await;
    let attempt = &delivery["attempt_log"][0];
    assert_eq!(
        (&attempt["status"], &attempt["outcome"]),
        (&Value::Null, &json!("transient"))
    );
    let error = attempt["error"].as_str().expect("an error");
    assert!(
        error.starts_with("No connection to the receiver"),
        "{error}"
    );

    let receiver = Receiver::start_at(address).expect("a receiver");
    let received = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].delivery_id(), delivery["id"].as_str());
    let id = delivery["id"].as_str().expect("an id");
    running.customer.delivery_in_state(id, "delivered").await;
}

/// Accepts connections and hands each request to `answer` once its body has been read.
pub(crate) fn raw_receiver(answer: impl Fn(&mut dyn Write) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let mut reader = BufReader::new(connection.try_clone().expect("a clone"));
            let mut length = 0;
            for line in reader.by_ref().lines().map_while(Result::ok) {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
                if line.is_empty() {
                    break;
                }
            }
            let _ = reader.read_exact(&mut vec![0; length]);
            answer(&mut &connection);
        }
    });
    address
}

#[tokio::test]
async fn an_answer_without_end_is_read_only_so_far() {
    let running = Running::start(Deployment::new());
    let written = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&written);
    let address = raw_receiver(move |connection| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut alive = connection.write_all(head.as_bytes());
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        while alive.is_ok() {
            alive = connection.write_all(chunk.as_bytes());
            counter.fetch_add(chunk.len(), Ordering::Relaxed);
        }
    });
    let url = format!("http://{address}/");
    let delivery = delivered_to(&running.customer, &url, "delivered").await;
    let attempt = &delivery["attempt_log"][0];
    assert_eq!(attempt["status"], 200);
    assert_eq!(
        attempt["answer"].as_str().expect("an answer").len(),
        8 * 1024
    );
    let took = time(&attempt["finished_at"]).since(time(&attempt["started_at"]));
    assert!(took < Duration::from_secs(5), "{took:?}");
    // 64 KiB, and what the network had under way.
    let written = written.load(Ordering::Relaxed);
    assert!(written < 64 * 1024 * 1024, "{written} bytes");
}

#[tokio::test]
async fn an_answer_of_any_bytes_is_put_on_record() {
    let running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    let answer = b"nul \0 half \xc3 emoji \xf0\x9f\x98\x80 end".to_vec();
    receiver.answer_always(Answer::status(200).body(answer));
    let delivery = delivered_to(&running.customer, &receiver.url(), "delivered").await;
    assert_eq!(
        delivery["attempt_log"][0]["answer"],
        "nul \u{fffd} half \u{fffd} emoji 😀 end"
    );
}

#[tokio::test]
async fn a_receiver_that_hangs_up_or_talks_nonsense_is_tried_again() {
    let running = Running::start(Deployment::new());
    let hangs_up = raw_receiver(|_| {});
    let talks_nonsense = raw_receiver(|connection| {
        let _ = connection.write_all(b"EHLO there\r\n\r\n");
    });
    for address in [hangs_up, talks_nonsense] {
        let url = format!("http://{address}/");
        let delivery = delivered_to(&running.customer, &url, "scheduled").await;
        let attempt = &delivery["attempt_log"][0];
        assert_eq!(attempt["outcome"], "transient");
        let error = attempt["error"].as_str().expect("an error");
        assert!(error.starts_with("The receiver gave no "), "{error}");
    }
}
