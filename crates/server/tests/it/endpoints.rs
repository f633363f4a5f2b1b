//! Endpoints: listed when in trouble, paused and resumed, and their owners told by mail.

use domain::{
    EndpointId, OrgId, Timestamp,
    delivery::endpoint::{Endpoint, Notice},
};
use journal::{
    frames::Frames,
    record::{EndpointNoticed, OutcomeRecord},
    streams::Log,
};
use serde_json::json;
use testkit::{Receiver, eventually};
use tokio::task::JoinSet;

use crate::deployment::{DEADLINE, Deployment, Running, event, ok};
use crate::errors::problem;
use crate::people::Town;

#[tokio::test]
async fn an_endpoint_says_how_many_attempts_failed_lately() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    receiver.answer_with(500);
    customer
        .rule(json!({"event_type": ["tool_call"]}), &receiver.url())
        .await;
    customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    receiver.answer_with(200);
    let delivery = received[0].delivery_id().expect("an id");
    let delivered = customer.delivery_in_state(delivery, "delivered").await;
    let endpoint = delivered["endpoint_id"].as_str().expect("an id");
    let shown = customer
        .get_json(&format!("/v1/endpoints/{endpoint}"))
        .await;
    let attempts = delivered["attempts"].as_u64().expect("a number");
    let failures = &shown["recent_failures"];
    assert!(attempts > 1, "{delivered}");
    assert_eq!(failures["last_hour"], attempts - 1, "{shown}");
    assert_eq!(failures["last_day"], attempts - 1, "{shown}");
    assert!(failures["last_at"].is_string());
}

#[tokio::test]
async fn an_endpoint_that_is_paused_gets_nothing_until_it_is_resumed_and_recovered() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer
        .rule(json!({"event_type": ["tool_call"]}), &receiver.url())
        .await;
    customer.ingest(&event("agent-1")).await;
    let received = receiver.wait_for(1, DEADLINE).await;
    let first = received[0].delivery_id().expect("an id");
    let first = customer.delivery_in_state(first, "delivered").await;
    let endpoint = format!(
        "/v1/endpoints/{}",
        first["endpoint_id"].as_str().expect("an id")
    );
    let well = customer.get_json(&endpoint).await;
    assert_eq!(
        (&well["status"], &well["url"]),
        (&json!("active"), &json!(receiver.url()))
    );
    assert_eq!(
        well["recent_failures"],
        json!({"last_hour": 0, "last_day": 0, "last_at": null, "complete": true})
    );
    assert_eq!(customer.get_json("/v1/endpoints").await["data"], json!([]));

    let paused = ok(customer
        .post(&format!("{endpoint}/pause"), &json!({}))
        .await)
    .await;
    assert_eq!(paused["status"], "paused");
    assert_eq!(paused["notices"][0]["notice"], "paused");
    let listed = customer.get_json("/v1/endpoints").await;
    assert_eq!(listed["data"][0]["id"], first["endpoint_id"]);
    customer.ingest(&event("agent-2")).await;
    let held = eventually(DEADLINE, "the next is held", async || {
        let page = customer
            .get_json("/v1/deliveries?state=held&reason=paused")
            .await;
        page["data"][0]["id"].as_str().map(str::to_owned)
    })
    .await;
    let held = customer.delivery_in_state(&held, "held").await;
    let words = held["explanation"].as_str().expect("words");
    assert!(
        words.starts_with("Held: someone paused the endpoint."),
        "{words}"
    );
    assert_eq!(receiver.count(), 1);

    let resumed = ok(customer
        .post(&format!("{endpoint}/resume"), &json!({}))
        .await)
    .await;
    assert_eq!(resumed["status"], "active");
    let recover = format!("/v1/alert-rules/{rule}/recover");
    let asked = json!({"since": "2020-01-01T00:00:00Z"});
    let made = ok(customer.post(&recover, &asked).await).await;
    assert_eq!(made["total"], 1);
    let received = receiver.wait_for(2, DEADLINE).await;
    assert_eq!(received[1].delivery_id(), held["id"].as_str());
    let changes = customer
        .get_json("/v1/audit/events?event_type=endpoint_change&order=asc")
        .await;
    let actions: Vec<_> = changes["data"]
        .as_array()
        .expect("data")
        .iter()
        .map(|one| &one["action"])
        .collect();
    assert_eq!(actions, ["endpoints.pause", "endpoints.resume"]);
    let unknown = format!("/v1/endpoints/{}", EndpointId::from_uuid(uuid::Uuid::nil()));
    problem(customer.get(&unknown).await, 404).await;
}

#[tokio::test]
async fn owners_are_mailed_of_lasting_trouble_once_and_not_without_end() {
    let town = Town::start();
    let _index = town.deployment.serve("index");
    let owner = town.owner().await;
    let (_, org) = owner.ids().await;
    let org: OrgId = org.parse().expect("an id");
    let mails_before = town.mail.mails_to(&owner.email).len();
    let journal = town.deployment.journal().await;
    let log = Log::Outcomes(journal.partitions().of(org));
    let (appender, task) = journal.appender(log, "endpoints-test");
    let mut appending = JoinSet::new();
    appending.spawn(task);
    let now = "SELECT (extract(epoch FROM now()) * 1000)::bigint";
    let now = town.deployment.sql(now).trim().parse().expect("a number");
    let now = Timestamp::from_unix_millis(now);
    let noticed = |number: u32, notice| {
        let url = format!("https://example.com/{number}");
        OutcomeRecord::Endpoint(Box::new(EndpointNoticed {
            endpoint: Endpoint::new(org, url),
            notice,
            error: Some("The receiver answered 503.".to_owned()),
            at: now,
        }))
    };
    let flap = [
        noticed(0, Notice::BreakerOpened),
        noticed(0, Notice::BreakerClosed),
        noticed(0, Notice::FailingForAnHour),
    ];
    appender
        .append(Frames::from_iter(flap))
        .await
        .expect("appended");
    let mails = town
        .mail
        .wait_for(&owner.email, mails_before + 1, DEADLINE)
        .await;
    assert_eq!(
        mails.subject,
        "A webhook endpoint has been failing for an hour"
    );
    assert!(
        mails.body.contains("https://example.com/0"),
        "{}",
        mails.body
    );
    assert!(
        mails.body.contains("The receiver answered 503."),
        "{}",
        mails.body
    );

    let many = (1..=30).map(|number| noticed(number, Notice::Disabled));
    appender
        .append(many.collect::<Frames>())
        .await
        .expect("appended");
    eventually(DEADLINE, "all are seen to", async || {
        let waiting = "SELECT count(*) FROM endpoint_notices WHERE mail = 'waiting'";
        let counted = "SELECT count(*) FROM endpoint_notices";
        town.deployment.sql(waiting).trim() == "0" && town.deployment.sql(counted).trim() == "33"
    })
    .await;
    // Ten an hour; one was sent before.
    town.mail
        .wait_for(&owner.email, mails_before + 10, DEADLINE)
        .await;
    let sent = "SELECT count(*) FROM endpoint_notices WHERE mail = 'sent'";
    assert_eq!(town.deployment.sql(sent).trim(), "10");
    assert_eq!(town.mail.mails_to(&owner.email).len(), mails_before + 10);
    drop(appender);
}
