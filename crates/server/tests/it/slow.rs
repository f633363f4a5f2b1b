//! Clients that take their time: to send, and to read.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::deployment::{DEADLINE, Deployment, Running};

#[tokio::test]
async fn a_request_that_takes_too_long_is_answered_408_and_told_what_is_left() {
    let mut running = Running::start(Deployment::new().with("HTTP__REQUEST_TIMEOUT_S", "1"));
    let address = running.server.address(DEADLINE);
    let key = &running.customer.api_key;
    // It says that it will send a hundred bytes, and sends one.
    let request = format!(
        "POST /v1/audit/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{{"
    );
    let answer = answer_to(&request, address).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
    let head = head.to_lowercase();
    assert!(
        head.contains("content-type: application/problem+json"),
        "{head}"
    );
    assert!(
        head.contains("ratelimit: \"ingest\";r="),
        "it was counted: {head}"
    );
    let problem: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(problem["code"], "REQUEST_TIMEOUT");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_let_go() {
    let deployment = Deployment::new().with("HTTP__REQUEST_TIMEOUT_S", "1");
    let mut server = deployment.serve("api");
    let address = server.address(DEADLINE);
    let mut connection = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET /openapi.json HTTP/1.1\r\nHost: {address}\r\n\r\n");
    // Asks and asks, and reads nothing: both sides' buffers fill, and then the server has had enough.
    let asking = async { while connection.write_all(request.as_bytes()).await.is_ok() {} };
    timeout(DEADLINE, asking)
        .await
        .expect("the server closes the connection");
}

#[tokio::test]
async fn a_small_body_that_does_not_arrive_is_answered_408_and_not_blamed_on_the_database() {
    let deployment = Deployment::new();
    let mut server = deployment.serve("api");
    let address = server.address(DEADLINE);
    let request = format!(
        "POST /v1/auth/login HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\nConnection: close\r\n\r\n{{"
    );
    let answer = answer_to(&request, address).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

/// What the server answers to what it was sent so far.
async fn answer_to(request: &str, address: SocketAddr) -> String {
    let mut connection = TcpStream::connect(address).await.expect("a connection");
    connection
        .write_all(request.as_bytes())
        .await
        .expect("sent");
    let mut answer = String::new();
    let reading = connection.read_to_string(&mut answer);
    timeout(DEADLINE, reading)
        .await
        .expect("in time")
        .expect("an answer");
    answer
}
