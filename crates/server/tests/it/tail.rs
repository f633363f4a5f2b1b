//! The live tail: what is accepted is seen at once, by those who may see it, and nobody is held up.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use testkit::{Stopwatch, eventually, shared};
use tokio::time::timeout;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, ok};
use crate::errors::problem;
use crate::people::Person;
use crate::telemetry::counted;
use crate::wire::Wire;

const STREAM: &str = "/v1/audit/events/stream";

/// One message of a stream.
#[derive(Debug, Default)]
pub(crate) struct Message {
    pub(crate) event: String,
    pub(crate) id: String,
    data: String,
}

impl Message {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).expect("JSON")
    }
}

/// Reads a stream as a browser would.
pub(crate) struct Stream {
    answer: Response,
    unread: String,
}

impl Stream {
    /// Opened, and told that it is ready.
    async fn open(customer: &Customer, query: &str) -> Self {
        let url = format!("{}{STREAM}{query}", customer.base_url);
        Self::from(patient().get(url).bearer_auth(&customer.api_key)).await
    }

    pub(crate) async fn from(request: RequestBuilder) -> Self {
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        assert_eq!(answer.headers()["cache-control"], "no-store");
        assert_eq!(answer.headers()["x-accel-buffering"], "no");
        let unread = String::new();
        let mut stream = Self { answer, unread };
        assert_eq!(stream.next().await.expect("a message").event, "ready");
        stream
    }

    /// The next message; `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        timeout(DEADLINE, self.message()).await.expect("in time")
    }

    async fn message(&mut self) -> Option<Message> {
        loop {
            while let Some((frame, rest)) = self.unread.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.unread = rest;
                let mut message = Message::default();
                let mut data = Vec::new();
                for line in frame.lines() {
                    match line.split_once(": ") {
                        Some(("event", value)) => message.event = value.to_owned(),
                        Some(("id", value)) => message.id = value.to_owned(),
                        Some(("data", value)) => data.push(value),
                        _ => {}
                    }
                }
                message.data = data.join("\n");
                if !message.event.is_empty() {
                    return Some(message);
                }
            }
            let chunk = self.answer.chunk().await.expect("an orderly end")?;
            self.unread
                .push_str(std::str::from_utf8(&chunk).expect("whole characters"));
        }
    }
}

/// A client that waits for as long as a stream goes on.
pub(crate) fn patient() -> Client {
    Client::builder().no_proxy().build().expect("a client")
}

#[tokio::test]
async fn an_accepted_event_is_seen_within_a_second() {
    const TIMES: usize = 100;
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let mut stream = Stream::open(customer, "").await;
    let mut took = Vec::new();
    for _ in 0..TIMES {
        let id = customer.ingest(&event("agent-1")).await;
        let accepted_at = Instant::now();
        let seen = stream.next().await.expect("a message");
        took.push(accepted_at.elapsed());
        assert_eq!((seen.event.as_str(), &seen.id), ("event", &id));
        assert_eq!(seen.json()["id"], id);
    }
    took.sort_unstable();
    println!(
        "accepted to seen: p50 {:?}, longest {:?}",
        took[TIMES / 2],
        took[TIMES - 1]
    );
    assert!(took[TIMES - 1] < Duration::from_secs(1), "{took:?}");
}

#[tokio::test]
async fn a_stream_shows_what_was_asked_for_as_it_was_sent_and_nobody_elses() {
    let deployment = Deployment::new().with("JOURNAL__PARTITIONS", "1");
    let mut running = Running::start(deployment);
    let other = running.deployment.customer(&mut running.server);
    let customer = &running.customer;
    let mut all = Stream::open(customer, "").await;
    let mut some = Stream::open(customer, "?action=payments.*&result=denied&q=LARGE").await;
    let mut others = Stream::open(&other, "").await;

    let wanted = |result: &str, note: &str| {
        json!({"event_type": "tool_call", "agent_id": "a", "action": "payments.refund",
               "result": result, "metadata": {"note": note}})
    };
    let mut mine = Vec::new();
    for event in [
        event("agent-1"),
        wanted("success", "large"),
        wanted("denied", "small"),
        wanted("denied", "a large\nsum"),
    ] {
        mine.push(customer.ingest(&event).await);
        other.ingest(&event).await;
    }
    // Bytes are kept as they were sent, also line ends between them.
    let lines = "{\"event_type\": \"tool_call\",\r\n\"agent_id\": \"a\",\n\n\"action\": \"payments.x\",\"result\":\"denied\",\"resource\":\"large\"}";
    let request = customer.request(reqwest::Method::POST, "/v1/audit/events");
    let request = request
        .header("content-type", "application/json")
        .body(lines);
    let last = ok(request.send().await.expect("an answer")).await;
    mine.push(last["events"][0]["id"].as_str().expect("an id").to_owned());

    for id in &mine {
        assert_eq!(all.next().await.expect("an event").id, *id);
    }
    assert_eq!(some.next().await.expect("an event").id, mine[3]);
    let broken_into_lines = some.next().await.expect("an event");
    assert_eq!(broken_into_lines.id, mine[4]);
    let listed = customer
        .get_json(&format!("/v1/audit/events/{}", mine[4]))
        .await;
    assert_eq!(broken_into_lines.json(), listed);
    for _ in 0..4 {
        let seen = others.next().await.expect("an event");
        assert!(!mine.contains(&seen.id));
    }
}

#[tokio::test]
async fn parameters_that_a_stream_does_not_have_are_refused() {
    let running = Running::start(Deployment::new());
    for (query, pointer) in [
        ("?limit=10", "?limit"),
        ("?cursor=x", "?cursor"),
        ("?severity=urgent", "?severity"),
    ] {
        let answer = running.customer.get(&format!("{STREAM}{query}")).await;
        let problem = problem(answer, 400).await;
        assert_eq!(problem["errors"][0]["pointer"], pointer);
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_misses_events_and_is_told_how_many() {
    const BATCHES: usize = 10;
    const EVENTS: usize = 300;
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let mut slow = Stream::open(customer, "").await;
    let mut quick = Stream::open(customer, "?agent_id=last").await;
    // 45 MB: more than the sockets' buffers and the queue hold together.
    let large: Vec<Value> = (0..EVENTS)
        .map(|_| {
            let mut large = event("agent-1");
            large["metadata"] = json!({"padding": "x".repeat(15_000)});
            large
        })
        .collect();
    for _ in 0..BATCHES {
        ok(customer
            .post("/v1/audit/events", &json!({"events": large}))
            .await)
        .await;
    }
    let last = customer.ingest(&event("last")).await;
    // Nobody waits for the slow one.
    assert_eq!(quick.next().await.expect("an event").id, last);
    let skipped = counted(customer, "watchbell_tail_skipped_total").await;
    assert!(skipped > 0.0);

    let (mut seen, mut told, mut gap_before) = (0, 0, false);
    while seen + told < (BATCHES * EVENTS) as u64 + 1 {
        let message = slow.next().await.expect("a message");
        if message.event == "skipped" {
            told += message.json()["skipped"].as_u64().expect("a number");
            gap_before = true;
        } else {
            seen += 1;
        }
    }
    assert!(gap_before);
    assert_eq!(seen + told, (BATCHES * EVENTS) as u64 + 1);
    println!("{seen} seen, {told} skipped");
    // From then on it sees everything again.
    let next = customer.ingest(&event("agent-2")).await;
    assert_eq!(slow.next().await.expect("an event").id, next);
}

#[tokio::test]
async fn a_stream_goes_on_and_even_starts_while_postgresql_is_down() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let mut before = Stream::open(&customer, "").await;
    postgres.stop();
    let mut during = Stream::open(&customer, "").await;
    for _ in 0..5 {
        let id = customer.ingest(&event("agent-1")).await;
        for stream in [&mut before, &mut during] {
            assert_eq!(stream.next().await.expect("an event").id, id);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_misses_nothing_when_the_wire_to_the_journal_is_cut() {
    const CUTS: usize = 3;
    let wire = Wire::to(&shared().nats_url, Duration::from_millis(1)).await;
    let deployment = Deployment::on_journal(&wire.nats_url());
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let mut stream = Stream::open(&customer, "").await;
    let mut accepted = BTreeSet::new();
    for _ in 0..CUTS {
        for _ in 0..10 {
            accepted.insert(customer.ingest(&event("agent-1")).await);
        }
        wire.cut();
        accepted.insert(customer.ingest(&event("agent-1")).await);
    }
    // An append that was tried again may have worked twice; both are in the list as well.
    let mut seen = BTreeSet::new();
    while !seen.is_superset(&accepted) {
        let message = stream.next().await.expect("a message");
        assert_eq!(message.event, "event");
        seen.insert(message.id);
    }
}

#[tokio::test]
async fn a_stream_ends_with_the_key_or_the_session_that_opened_it() {
    let running = Running::start(Deployment::new());
    let person = Person::founder(&running.customer.base_url).await;
    let wanted = json!({"name": "Tail", "scopes": ["events:read"]});
    let made = ok(person.post("/v1/api-keys", &wanted).await).await;
    let reader = Customer {
        api_key: made["api_key"].as_str().expect("a key").to_owned(),
        ..running.customer.clone()
    };
    // What is done to accounts is in the trail, and none of it is wanted here.
    let nothing = "?event_type=nothing";
    let mut by_key = Stream::open(&reader, nothing).await;
    let cookie = person.cookie.clone().expect("logged in");
    let url = format!("{}{STREAM}{nothing}", person.base_url);
    let mut by_session = Stream::from(patient().get(url).header("cookie", cookie)).await;

    let id = made["id"].as_str().expect("an id");
    let revoked = person.delete(&format!("/v1/api-keys/{id}")).await;
    assert!(revoked.status().is_success());
    assert!(by_key.next().await.is_none());
    let left = person.post("/v1/auth/logout", &json!({})).await;
    assert!(left.status().is_success());
    assert!(by_session.next().await.is_none());
}

#[tokio::test]
async fn a_process_that_is_told_to_stop_ends_its_streams_at_once() {
    let mut running = Running::start(Deployment::new());
    let mut stream = Stream::open(&running.customer, "").await;
    let asked_at = Stopwatch::start();
    let ended = running.server.terminate(DEADLINE);
    assert!(ended.success());
    assert!(stream.next().await.is_none(), "an orderly end");
    assert!(
        asked_at.elapsed() < Duration::from_secs(5),
        "{:?}",
        asked_at.elapsed()
    );
}

#[tokio::test]
async fn clients_share_one_follower_and_it_ends_with_the_last() {
    const MOST: usize = 20;
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    assert!(counted(customer, "watchbell_tail_followers").await < 0.5);
    let mut streams = Vec::new();
    for _ in 0..MOST {
        streams.push(Stream::open(customer, "").await);
    }
    assert!((counted(customer, "watchbell_tail_clients").await - 20.0).abs() < 0.5);
    assert!((counted(customer, "watchbell_tail_followers").await - 1.0).abs() < 0.5);
    let one_more = problem(customer.get(STREAM).await, 409).await;
    assert_eq!(one_more["code"], "LIMIT_REACHED");

    streams.truncate(1);
    let id = customer.ingest(&event("agent-1")).await;
    assert_eq!(streams[0].next().await.expect("an event").id, id);
    streams.clear();
    eventually(DEADLINE, "the follower has ended", async || {
        counted(customer, "watchbell_tail_followers").await < 0.5
            && counted(customer, "watchbell_tail_clients").await < 0.5
    })
    .await;
    // And begins anew for the next one.
    let mut again = Stream::open(customer, "").await;
    let id = customer.ingest(&event("agent-2")).await;
    assert_eq!(again.next().await.expect("an event").id, id);
}
