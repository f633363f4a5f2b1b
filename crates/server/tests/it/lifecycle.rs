//! How a process starts and ends: in order, without losing anything, and never silently.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use testkit::folder::TestFolder;
use testkit::{Answer, Receiver, Signal, Stopwatch, Watchbell, eventually, own};
use tokio::net::UnixDatagram;

use crate::deployment::{BINARY, DEADLINE, Deployment, Running, event, http, ok};

async fn readiness(http: &Client, base_url: &str) -> Option<(StatusCode, Value)> {
    let response = http
        .get(format!("{base_url}/healthz/ready"))
        .send()
        .await
        .ok()?;
    let status = response.status();
    Some((status, response.json().await.ok()?))
}

#[tokio::test]
async fn a_process_that_is_asked_to_end_says_so_first_and_serves_on_meanwhile() {
    let mut running = Running::start(Deployment::new().with("HTTP__DRAIN_S", "2"));
    let customer = running.customer.clone();
    let receiver = Receiver::start().expect("a receiver");
    customer.rule(json!({}), &receiver.url()).await;
    let (status, body) = readiness(&customer.http, &customer.base_url)
        .await
        .expect("an answer");
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        (&body["ready"], &body["draining"]),
        (&json!(true), &json!(false))
    );

    running.server.signal(Signal::Terminate);
    let asked = Instant::now();
    let said = eventually(Duration::from_secs(1), "readiness says no", async || {
        let (status, body) = readiness(&customer.http, &customer.base_url).await?;
        (status == StatusCode::SERVICE_UNAVAILABLE).then_some(body)
    })
    .await;
    assert_eq!(
        (&said["ready"], &said["draining"]),
        (&json!(false), &json!(true))
    );
    // On a connection of its own: new ones are taken too.
    let alive = http()
        .get(format!("{}/healthz/live", customer.base_url))
        .send()
        .await;
    assert_eq!(alive.expect("an answer").status(), StatusCode::NO_CONTENT);
    customer.ingest(&event("late")).await;
    assert_eq!(customer.all_events().await.len(), 1);
    receiver.wait_for(1, DEADLINE).await;
    assert!(running.server.ended().is_none());

    assert_eq!(running.server.wait_until_ended(DEADLINE).code(), Some(0));
    let took = asked.elapsed();
    assert!(took >= Duration::from_secs(2), "it drained only {took:?}");
    assert!(readiness(&http(), &customer.base_url).await.is_none());
}

#[tokio::test]
async fn a_send_in_flight_is_finished_and_recorded_before_the_process_ends() {
    let mut running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::status(200).after(Duration::from_secs(2)));
    running.customer.rule(json!({}), &receiver.url()).await;
    running.customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;

    assert_eq!(running.server.terminate(DEADLINE).code(), Some(0));

    // Nobody here delivers, so what is on record was put there by the one that ended.
    let mut next = running.deployment.serve("api,index");
    let customer = running.customer.at(&mut next);
    let id = received[0].delivery_id().expect("an id");
    let delivery = customer.delivery_in_state(id, "delivered").await;
    assert_eq!(delivery["attempts"], 1);
    assert_eq!(delivery["attempt_log"][0]["status"], 200);
    assert_eq!(receiver.count(), 1);
}

#[tokio::test]
async fn what_was_not_sent_before_the_end_is_sent_by_the_next_process_and_nothing_twice() {
    let mut running = Running::start(Deployment::new().with("DELIVERY__CONCURRENCY", "1"));
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::status(200).after(Duration::from_millis(500)));
    running.customer.rule(json!({}), &receiver.url()).await;
    let batch: Vec<Value> = (0..5)
        .map(|number| event(&format!("agent-{number}")))
        .collect();
    ok(running
        .customer
        .post("/v1/audit/events", &json!({"events": batch}))
        .await)
    .await;
    receiver.wait_for(1, DEADLINE).await;

    assert_eq!(running.server.terminate(DEADLINE).code(), Some(0));
    let before = receiver.count();
    assert!(before < batch.len(), "it was to be stopped in the middle");

    let started = Stopwatch::start();
    running.server = running.deployment.serve_all();
    receiver.wait_for(batch.len(), DEADLINE).await;
    let took = started.elapsed();
    running.customer.base_url = running.server.url(DEADLINE);
    for delivery in running.customer.get_json("/v1/deliveries").await["data"]
        .as_array()
        .expect("data")
    {
        let id = delivery["id"].as_str().expect("an id");
        running.customer.delivery_in_state(id, "delivered").await;
    }
    let mut sent = BTreeMap::new();
    for received in receiver.received() {
        *sent.entry(received.event_id().expect("an id")).or_insert(0) += 1;
    }
    assert_eq!(sent.len(), batch.len());
    assert!(sent.values().all(|count| *count == 1), "{sent:?}");
    // What the old process had taken and not sent is not held back until somebody thinks it dead.
    assert!(
        took < Duration::from_secs(8),
        "the rest came only after {took:?}"
    );
}

#[tokio::test]
async fn a_node_is_ready_and_takes_events_while_postgresql_is_down() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let mut running = Running::start(deployment);
    let receiver = Receiver::start().expect("a receiver");
    running.customer.rule(json!({}), &receiver.url()).await;

    postgres.stop();
    let customer = &running.customer;
    let (status, body) = eventually(DEADLINE, "it is noticed", async || {
        let (status, body) = readiness(&customer.http, &customer.base_url).await?;
        (body["postgres"] == false).then_some((status, body))
    })
    .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        (&body["ready"], &body["journal"]),
        (&json!(true), &json!(true))
    );
    let id = customer.ingest(&event("in-the-dark")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].event_id(), Some(id));
    let refused = customer.get("/v1/audit/events").await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    let problem: Value = refused.json().await.expect("JSON");
    assert_eq!(problem["code"], "STORE_UNAVAILABLE");
    assert_eq!(running.server.ended(), None);
    let asked = Stopwatch::start();
    assert_eq!(running.server.terminate(DEADLINE).code(), Some(0));
    let took = asked.elapsed();
    assert!(
        took < Duration::from_secs(5),
        "it ended only after {took:?}"
    );
}

#[tokio::test]
async fn a_node_that_starts_while_postgresql_is_down_serves_a_key_it_has_never_seen() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let mut running = Running::start(deployment);
    let receiver = Receiver::start().expect("a receiver");
    running.customer.rule(json!({}), &receiver.url()).await;
    assert_eq!(running.server.terminate(DEADLINE).code(), Some(0));

    postgres.stop();
    running.server = running.deployment.serve_all();
    running.customer.base_url = running.server.url(DEADLINE);
    let id = running.customer.ingest(&event("in-the-dark")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    assert_eq!(received[0].event_id(), Some(id.clone()));

    // And everything is on record once it is back.
    postgres.restart().expect("PostgreSQL");
    let delivery = received[0].delivery_id().expect("an id");
    running
        .customer
        .delivery_in_state(delivery, "delivered")
        .await;
    let events = running.customer.all_events().await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["id"], id);
}

#[test]
fn a_port_that_is_taken_ends_the_start_with_a_message_that_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let deployment = Deployment::new().with("HTTP__LISTEN", &address);
    let mut process = deployment.command(&["serve"]);
    assert_eq!(process.wait_until_ended(DEADLINE).code(), Some(1));
    process.wait_for_line(DEADLINE, |line| {
        line.starts_with("watchbell: ") && line.contains(&address) && line.contains("in use")
    });
}

#[tokio::test]
async fn a_process_that_starts_before_its_journal_says_so_and_waits() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    nats.stop();
    let mut process = deployment.command(&["serve"]);
    process.wait_for_line(DEADLINE, |line| line.contains("waiting for the journal"));
    assert_eq!(process.ended(), None);

    nats.restart().expect("NATS");
    let base_url = process.url(DEADLINE);
    let (status, _) = readiness(&http(), &base_url).await.expect("an answer");
    assert_eq!(status, StatusCode::OK);
    let customer = deployment.customer(&mut process);
    customer.ingest(&event("agent-1")).await;
    assert_eq!(customer.all_events().await.len(), 1);
}

#[tokio::test]
async fn a_second_signal_ends_at_once_and_is_not_called_a_success() {
    let mut running = Running::start(Deployment::new());
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_always(Answer::status(200).after(Duration::from_secs(9)));
    running.customer.rule(json!({}), &receiver.url()).await;
    running.customer.ingest(&event("agent-1")).await;
    receiver.wait_for(1, DEADLINE).await;

    running.server.signal(Signal::Terminate);
    running
        .server
        .wait_for_line(DEADLINE, |line| line.contains(r#""message":"stopping""#));
    assert_eq!(
        running.server.ended(),
        None,
        "it waits for the send in flight"
    );
    let asked = Stopwatch::start();
    assert_eq!(running.server.terminate(DEADLINE).code(), Some(1));
    assert!(
        asked.elapsed() < Duration::from_secs(2),
        "{:?}",
        asked.elapsed()
    );
    running
        .server
        .wait_for_line(DEADLINE, |line| line.contains("second signal"));
}

#[tokio::test]
async fn clients_that_hold_a_connection_open_do_not_hold_up_the_end() {
    let mut running = Running::start(Deployment::new());
    let address = running.server.address(DEADLINE);
    let connect = |bytes: &str| {
        let mut connection = TcpStream::connect(address).expect("a connection");
        connection.write_all(bytes.as_bytes()).expect("written");
        connection
    };
    let _silent = connect("");
    let _half_a_head = connect("GET /healthz/live HTTP/1.1\r\nHost: x\r\n");
    // Answered, and then kept open.
    let mut idle = connect("GET /healthz/live HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut answer = [0; 12];
    idle.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 204");

    let asked = Stopwatch::start();
    assert_eq!(
        running.server.terminate(Duration::from_secs(40)).code(),
        Some(0)
    );
    let took = asked.elapsed();
    assert!(
        took < Duration::from_secs(15),
        "it ended only after {took:?}"
    );
}

#[tokio::test]
async fn a_service_manager_is_told_when_it_serves_and_when_it_ends() {
    let folder = TestFolder::create().expect("a folder");
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    let deployment = Deployment::new();
    let socket = socket.to_str().expect("plain text");
    let variables = deployment.variables().chain([("NOTIFY_SOCKET", socket)]);
    let mut server = Watchbell::spawn(Path::new(BINARY), &["serve"], variables).expect("a server");

    let mut told = [0; 64];
    let length = manager.recv(&mut told).await.expect("a datagram");
    assert_eq!(&told[..length], b"READY=1\n");
    let address = server.address(DEADLINE);
    assert!(TcpStream::connect(address).is_ok(), "it listens already");

    server.signal(Signal::Terminate);
    let length = manager.recv(&mut told).await.expect("a datagram");
    assert_eq!(&told[..length], b"STOPPING=1\n");
    assert!(server.wait_until_ended(DEADLINE).success());
}
