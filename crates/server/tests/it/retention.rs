//! Days are there before they are needed and go when they are older than they are kept, and nobody who
//! reads or writes notices.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Receiver, eventually};

use crate::commands::{run, stdout};
use crate::deployment::{DEADLINE, Deployment, Running, event};
use crate::load::{Load, assert_listed_once};

fn days(deployment: &Deployment) -> Vec<Value> {
    let output = run(&["partitions", "--json"], deployment.variables());
    assert!(output.status.success(), "{output:?}");
    let lines = stdout(&output);
    let line = |line: &str| serde_json::from_str(line).expect("JSON");
    lines.lines().map(line).collect()
}

/// The days of a table that are over.
fn past(deployment: &Deployment, table: &str) -> BTreeSet<String> {
    let is_past = |day: &&Value| day["state"] != "ahead" && day["state"] != "current";
    let name = |day: &Value| day["table"].as_str().expect("a name").to_owned();
    let all = days(deployment);
    let names = all.iter().filter(is_past).map(name);
    names
        .filter(|name| name.starts_with(&format!("{table}_d")))
        .collect()
}

/// An event that occurred so many days ago.
fn old_event(deployment: &Deployment, days: u32) -> Value {
    let at = "to_char((now() AT TIME ZONE 'UTC')";
    let form = r#"'YYYY-MM-DD"T"HH24:MI:SS"Z"'"#;
    let at = deployment.sql(&format!("SELECT {at} - interval '{days} days', {form})"));
    let mut event = event("agent");
    event["occurred_at"] = json!(at.trim());
    event
}

#[tokio::test]
async fn a_week_of_days_is_there_before_its_first_event() {
    let deployment = Deployment::new();
    let _index = deployment.serve("index");
    let all = eventually(DEADLINE, "all days are made", async || {
        let days = days(&deployment);
        (days.len() == 3 * 8).then_some(days)
    })
    .await;
    let in_state = |state: &str| all.iter().filter(|day| day["state"] == state).count();
    assert_eq!((in_state("current"), in_state("ahead")), (3, 21));
    let output = stdout(&run(&["partitions"], deployment.variables()));
    assert_eq!(output.lines().count(), 1 + 24, "{output}");
}

#[tokio::test]
async fn days_older_than_they_are_kept_are_dropped_and_the_others_stay() {
    // At first they are kept for long, so that there is something to drop.
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let receiver = Receiver::start().expect("a receiver");
    customer.rule(json!({}), &receiver.url()).await;
    for days in [0, 2, 3, 40, 41] {
        customer.ingest(&old_event(&running.deployment, days)).await;
    }
    assert_eq!(customer.all_events().await.len(), 5);
    receiver.wait_for(5, DEADLINE).await;
    eventually(DEADLINE, "all are on record", async || {
        let deliveries = customer.all_deliveries().await;
        let delivered = |delivery: &&Value| delivery["state"] == "delivered";
        deliveries.iter().filter(delivered).count() == 5
    })
    .await;
    let Running {
        server,
        customer,
        deployment,
    } = running;
    assert_eq!(past(&deployment, "audit_events").len(), 4);
    drop(server);
    // The deliveries of one old event are of long ago, those of the other of today.
    let long_ago = "SELECT min(tableoid::regclass::text) FROM deliveries";
    let oldest = deployment.sql(long_ago).trim().to_owned();
    let oldest_attempts = oldest.replace("deliveries", "delivery_attempts");
    deployment.sql(&format!(
        "UPDATE {oldest} SET matched_at = now() - interval '41 days'"
    ));
    deployment.sql(&format!(
        "UPDATE {oldest_attempts} SET finished_at = now() - interval '41 days'"
    ));

    let deployment = deployment.with("EVENTS__RETENTION_DAYS", "10");
    let mut server = deployment.serve_all();
    eventually(DEADLINE, "old days are gone", async || {
        let left = past(&deployment, "audit_events").len();
        if left == 2 { Ok(()) } else { Err(left) }
    })
    .await;
    eventually(DEADLINE, "so are old deliveries", async || {
        let left = [
            past(&deployment, "deliveries"),
            past(&deployment, "delivery_attempts"),
        ];
        let is_right = !left[0].contains(&oldest) && left.iter().all(|days| days.len() == 3);
        if is_right { Ok(()) } else { Err(left) }
    })
    .await;
    let customer = customer.at(&mut server);
    assert_eq!(customer.all_events().await.len(), 3);
    assert_eq!(customer.all_deliveries().await.len(), 4);
    eventually(DEADLINE, "their counts are gone too", async || {
        let counted = "SELECT sum(events) FROM event_counts
                       WHERE field = 'result' AND value = 'denied' AND grain = ";
        let counted = |grain| {
            deployment
                .sql(&format!("{counted}'{grain}'"))
                .trim()
                .to_owned()
        };
        (counted("day"), counted("hour")) == ("3".to_owned(), "3".to_owned())
    })
    .await;
}

#[tokio::test]
async fn who_reads_and_writes_does_not_notice_that_days_go() {
    let running = Running::start(Deployment::new());
    let customer = running.customer.clone();
    for days in 100..110 {
        customer.ingest(&old_event(&running.deployment, days)).await;
    }
    assert_eq!(customer.all_events().await.len(), 10);
    let deployment = running.deployment.with("EVENTS__RETENTION_DAYS", "10");
    let load = Load::start(&customer, 4);
    load.wait_for_accepted(50).await;

    let _drops = deployment.serve("index");
    eventually(DEADLINE, "old days are gone", async || {
        let page = customer.get_json("/v1/audit/events?limit=1000").await;
        assert!(page["data"].is_array(), "{page}");
        past(&deployment, "audit_events").is_empty()
    })
    .await;
    load.wait_for_accepted(50).await;
    let ledger = load.stop().await;
    assert_eq!(ledger.troubles, Vec::<String>::new());
    assert!(
        ledger.longest < Duration::from_secs(5),
        "{:?}",
        ledger.longest
    );
    assert_listed_once(&customer, &ledger).await;
}
