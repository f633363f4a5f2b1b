//! One process writes a log, another takes over when it is gone, and several share the logs.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Signal, Watchbell, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, event};
use crate::fresh::events_indexed;
use crate::load::{Load, assert_listed_once};

/// The logs of events and outcomes that somebody holds the lease of.
const LEASES: &str = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND classid = x'77626c73'::int AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// The writers that are in a transaction and sleep there.
const SLEEPS: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'PgSleep'";

async fn until_listed(customer: &Customer) -> Duration {
    let started = Instant::now();
    let id = customer.ingest(&event("agent")).await;
    eventually(DEADLINE, "it is listed", async || {
        let page = customer.get_json("/v1/audit/events").await;
        page["data"][0]["id"] == id
    })
    .await;
    started.elapsed()
}

async fn indexed(customer: &Customer, processes: &mut [Watchbell]) -> Vec<usize> {
    let mut indexed = Vec::new();
    for process in processes {
        indexed.push(events_indexed(customer, process).await);
    }
    indexed
}

#[tokio::test]
async fn of_two_indexers_one_works_and_when_it_is_killed_the_other_does() {
    let deployment = Deployment::new().with("JOURNAL__PARTITIONS", "1");
    let mut api = deployment.serve("api");
    let customer = deployment.customer(&mut api);
    let mut indexers = vec![deployment.serve("index")];
    until_listed(&customer).await;
    indexers.push(deployment.serve("index"));
    until_listed(&customer).await;
    assert_eq!(deployment.sql(LEASES).trim(), "2", "one of each log");

    let first = usize::from(indexed(&customer, &mut indexers).await[0] < 2);
    indexers[first].kill();
    let took = until_listed(&customer).await;
    println!("the other listed an event {took:?} after the kill");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn a_writer_that_hangs_is_not_waited_for() {
    let deployment = Deployment::new().with("JOURNAL__PARTITIONS", "1");
    let mut api = deployment.serve("api");
    let customer = deployment.customer(&mut api);
    let mut hangs = deployment.serve("index");
    until_listed(&customer).await;
    let _other = deployment.serve("index");
    hangs.signal(Signal::Stop);
    let took = until_listed(&customer).await;
    hangs.signal(Signal::Continue);
    println!("the other listed an event {took:?} after the first one hung");
}

#[tokio::test]
async fn a_writer_that_hangs_in_a_transaction_is_ended_and_nothing_is_lost_or_twice() {
    let deployment = Deployment::new().with("JOURNAL__PARTITIONS", "1");
    let mut api = deployment.serve("api");
    let customer = deployment.customer(&mut api);
    let mut hangs = deployment.serve("index");
    eventually(DEADLINE, "it has the leases", async || {
        deployment.sql(LEASES).trim() == "2"
    })
    .await;
    let other = deployment.serve("index");
    // So slowly that it is stopped with the position's row in hand, which it would keep for 30 s.
    deployment.sql(
        "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
         $$BEGIN PERFORM pg_sleep(1); RETURN NULL; END$$;
         CREATE TRIGGER slowly BEFORE INSERT ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION slowly()",
    );
    let load = Load::start(&customer, 4);
    eventually(DEADLINE, "it is at work", async || {
        deployment.sql(SLEEPS).trim() == "1"
    })
    .await;
    hangs.signal(Signal::Stop);
    let started = Instant::now();
    eventually(DEADLINE, "the other took over", async || {
        let lines = other.lines();
        lines
            .iter()
            .any(|line| line.contains("another is taking over"))
    })
    .await;
    eventually(DEADLINE, "it is at work", async || {
        deployment.sql(SLEEPS).trim() == "1"
    })
    .await;
    let took = started.elapsed();
    println!("the other was at work {took:?} after the first one hung");
    assert!(took < Duration::from_secs(20), "{took:?}");
    deployment.sql("DROP TRIGGER slowly ON audit_events");
    hangs.signal(Signal::Continue);
    load.wait_for_accepted(20).await;
    let ledger = load.stop().await;
    assert_listed_once(&customer, &ledger).await;
}

#[tokio::test]
async fn two_indexers_come_to_share_the_logs() {
    let deployment = Deployment::new().with("JOURNAL__PARTITIONS", "8");
    let mut api = deployment.serve("api");
    let mut customers = Vec::new();
    for _ in 0..8 {
        customers.push(deployment.customer(&mut api));
    }
    // The first has every lease when the second comes.
    let mut indexers = vec![deployment.serve("index")];
    for customer in &customers {
        until_listed(customer).await;
    }
    indexers.push(deployment.serve("index"));
    let batch = json!({"events": vec![event("agent"); 10]});
    eventually(DEADLINE, "both have indexed", async || {
        for customer in &customers {
            customer.post("/v1/audit/events", &batch).await;
        }
        let indexed = indexed(&customers[0], &mut indexers).await;
        if indexed[1] > 0 { Ok(()) } else { Err(indexed) }
    })
    .await;
}
