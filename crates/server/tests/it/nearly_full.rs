//! A log of events that is nearly full: who filled it is refused, and who sends little goes on.

use domain::partition::Partitions;
use journal::streams::Log;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use testkit::eventually;

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, ok};
use crate::errors::problem;

const BYTES_MAX: u64 = 2_000_000;
/// The last tenth is for those who send little. A little above, and far from full.
const NEARLY: u64 = 1_830_000;

#[tokio::test]
async fn a_log_that_is_nearly_full_refuses_who_filled_it_and_takes_what_others_send() {
    let deployment = Deployment::new()
        .with("JOURNAL__PARTITIONS", "1")
        .with("JOURNAL__EVENTS_BYTES_MAX", &BYTES_MAX.to_string());
    let mut running = Running::start(deployment);
    let quiet = running.deployment.customer(&mut running.server);
    let loud = &running.customer;
    let journal = running.deployment.journal().await;
    let partition = Partitions::new(1).expect("in range").all().next();
    let log = Log::Events(partition.expect("one"));
    let mut taken = 0;
    while journal.log_state(log).await.expect("an answer").bytes < NEARLY {
        // A look in between may have found the mark passed already.
        if send(loud, &large()).await.status() != StatusCode::ACCEPTED {
            break;
        }
        taken += 1;
    }
    assert!(taken > 150, "{taken}");

    let small = event("agent");
    eventually(DEADLINE, "who filled it is refused", async || {
        match send(loud, &small).await.status() {
            StatusCode::TOO_MANY_REQUESTS => Ok(()),
            other => Err(other.to_string()),
        }
    })
    .await;
    let refused = send(loud, &small).await;
    assert!(refused.headers().contains_key("retry-after"));
    let refused = problem(refused, 429).await;
    assert_eq!(refused["code"], "RATE_LIMITED");
    let detail = refused["detail"].as_str().expect("a text");
    assert!(detail.contains("more than its share"), "{detail}");

    for _ in 0..5 {
        assert_eq!(send(&quiet, &large()).await.status(), StatusCode::ACCEPTED);
    }
    let question = json!({"agent_id": "a", "action": "files.read"});
    quiet.decide(&question).await;
    // To the loud one the log is full: its decisions are answered as if it were, and it can still read.
    let unanswered = loud.post("/v1/runtime/decisions", &question).await;
    assert_eq!(
        problem(unanswered, 503).await["code"],
        "JOURNAL_UNAVAILABLE"
    );
    assert_eq!(
        send(loud, &small).await.status(),
        StatusCode::TOO_MANY_REQUESTS
    );
    ok(loud.get("/v1/audit/events").await).await;
}

fn large() -> Value {
    let mut large = event("agent");
    large["metadata"] = json!({"text": "a".repeat(10_000)});
    large
}

async fn send(customer: &Customer, event: &Value) -> reqwest::Response {
    let request = customer.request(Method::POST, "/v1/audit/events");
    request.json(event).send().await.expect("an answer")
}
