//! A delivery whose task panics takes nothing with it.

use domain::{DeliveryId, EventId, OrgId, RuleId, Timestamp, delivery::Cause};
use journal::record::{Job, Matched};
use serde_json::json;
use testkit::{Receiver, Watchbell, eventually};

use crate::deployment::{DEADLINE, Deployment, event};

/// No client can send such a type, and no header can hold it.
const NO_HEADER: &str = "a type\nof two lines";

#[tokio::test]
async fn a_delivery_that_panics_gives_its_slot_back_and_is_tried_again() {
    let deployment = Deployment::new().with("DELIVERY__CONCURRENCY", "1");
    let mut server = deployment.serve("api,index,match");
    let worker = deployment.serve("deliver");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;
    customer.ingest(&event("agent")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let delivered = received[0].delivery_id().expect("an id");
    let delivered = customer.delivery_in_state(delivered, "delivered").await;
    let at = delivered["matched_at"].as_str().and_then(Timestamp::parse);
    let at = at.expect("a time");
    let matched = Matched {
        org: OrgId::new(at, [1; 10]),
        delivery: DeliveryId::new(at, [2; 10]),
        event: EventId::new(at, [3; 10]),
        rule: RuleId::new(at, [4; 10]),
        rule_name: "Poison".to_owned(),
        event_type: NO_HEADER.to_owned(),
        url: receiver.url(),
        matched_at: at,
        cause: Cause::Match,
    };
    let journal = deployment.journal().await;
    let poison = Job::first(matched, "{}".to_owned());
    journal.deliver_all(&[poison]).await.expect("queued");
    let panics = |worker: &Watchbell| {
        let panics = |line: &&String| line.contains("a delivery panicked");
        worker.lines().iter().filter(panics).count()
    };
    eventually(DEADLINE, "it panics", async || {
        if panics(&worker) > 0 { Ok(()) } else { Err(()) }
    })
    .await;

    customer.ingest(&event("agent")).await;
    receiver.wait_for(2, DEADLINE).await;
    eventually(DEADLINE, "it is tried again", async || {
        if panics(&worker) > 1 { Ok(()) } else { Err(()) }
    })
    .await;
}
