//! `watchbell endpoints`, as somebody reads it.

use serde_json::json;
use testkit::Receiver;

use crate::cli::{Terminal, reads_as_before};
use crate::deployment::{DEADLINE, Deployment, Running, event};

#[tokio::test]
async fn an_endpoint_is_shown_paused_and_resumed() {
    let running = Running::start(Deployment::new());
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    let receiver = Receiver::start().expect("a receiver");
    customer.rule(json!({}), &receiver.url()).await;
    customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let delivery = received[0].delivery_id().expect("an id");
    let delivery = customer.delivery_in_state(delivery, "delivered").await;
    let endpoint = delivery["endpoint_id"].as_str().expect("an id");
    let unknown = "end_01m7eh678ef4hb9dyv15c8d0vs";
    let said = [
        terminal.settled(&["endpoints", "list"]),
        terminal.run(&["endpoints", "show", endpoint]),
        terminal.run(&["endpoints", "pause", endpoint]),
        terminal.settled(&["endpoints", "list"]),
        terminal.settled(&["endpoints", "list", "-o", "json"]),
        terminal.run(&["endpoints", "show", endpoint]),
        terminal.run(&["endpoints", "resume", endpoint, "-o", "json"]),
        terminal.run(&["endpoints", "resume", endpoint]),
        terminal.run(&["endpoints", "verify", endpoint]),
        terminal.run(&["endpoints", "pause", unknown]),
        terminal.run(&["endpoints", "show", "4711"]),
    ];
    reads_as_before("endpoints", &terminal.shown(&said));
}

#[tokio::test]
async fn an_endpoint_is_sent_its_challenge_where_that_is_required() {
    let required = Deployment::new().with("DELIVERY__ENDPOINT_OWNERSHIP", "required");
    let running = Running::start(required);
    let (customer, terminal) = (&running.customer, Terminal::of(&running.customer));
    let receiver = Receiver::start().expect("a receiver");
    customer.rule(json!({}), &receiver.url()).await;
    customer.ingest(&event("agent-1")).await;
    // The first challenge comes with the first delivery; the receiver does not know what to do with it.
    receiver.wait_for(1, DEADLINE).await;
    let deliveries = terminal.settled(&["deliveries", "list", "-o", "json"]);
    let deliveries: serde_json::Value = serde_json::from_str(&deliveries.stdout).expect("JSON");
    let delivery = deliveries["data"][0]["id"].as_str().expect("an id");
    let delivery = customer.delivery_in_state(delivery, "held").await;
    let endpoint = delivery["endpoint_id"].as_str().expect("an id");
    let verify = terminal.run(&["endpoints", "verify", endpoint]);
    // It may have been challenged less than ten seconds ago.
    assert!(
        verify.code == Some(0) && verify.stdout.contains("sending the challenge to http")
            || verify.code == Some(14),
        "{}{}",
        verify.stdout,
        verify.stderr
    );
    let shown = terminal.run(&["endpoints", "show", endpoint]);
    let is_told = |line: &str| line.starts_with("ownership ") && line.ends_with(" unverified");
    assert!(shown.stdout.lines().any(is_told), "{}", shown.stdout);
}
