//! A log that is not as it was left, or that this version cannot read on, is noticed and not waited for.

use serde_json::{Value, json};
use testkit::{Receiver, eventually};

use crate::dead_letters::{namespace, publish};
use crate::deployment::{Customer, DEADLINE, Deployment, event};
use crate::load::wait_until_fresh;
use crate::telemetry::counted;

const GAPS: &str = r#"watchbell_journal_gap_total{log="events"}"#;

fn one_log() -> Deployment {
    Deployment::new().with("JOURNAL__PARTITIONS", "1")
}

async fn agents(customer: &Customer) -> Vec<String> {
    let page = customer.get_json("/v1/audit/events").await;
    let events = page["data"].as_array().expect("data");
    let agent = |event: &Value| event["agent_id"].as_str().expect("an agent").to_owned();
    events.iter().map(agent).collect()
}

#[tokio::test]
async fn a_log_that_ends_before_what_was_applied_is_applied_from_its_beginning() {
    let deployment = one_log();
    let mut api = deployment.serve("api");
    let mut index = deployment.serve("index");
    let customer = deployment.customer(&mut api);
    customer.ingest(&event("first")).await;
    assert_eq!(agents(&customer).await, ["first"]);
    // As if the journal had been put back to an earlier state.
    let ahead = "UPDATE journal_watermark SET applied_sequence = applied_sequence + 1000";
    deployment.sql(ahead);
    let page = customer.get_json("/v1/audit/events").await;
    assert_eq!(page["fresh"], false, "more was applied than there is");
    customer.ingest(&event("second")).await;
    wait_until_fresh(&customer, "/v1/audit/events").await;
    assert_eq!(agents(&customer).await, ["second", "first"]);

    index.kill();
    deployment.sql(ahead);
    customer.ingest(&event("third")).await;
    let mut index = deployment.serve("index");
    wait_until_fresh(&customer, "/v1/audit/events").await;
    assert_eq!(agents(&customer).await, ["third", "second", "first"]);
    index.wait_for_line(DEADLINE, |line| {
        line.contains("the end of the journal is missing")
    });
}

#[tokio::test]
async fn a_log_of_outcomes_that_is_applied_again_counts_nothing_twice() {
    let deployment = one_log();
    let mut server = deployment.serve("api,match,deliver");
    let mut index = deployment.serve("index");
    let customer = deployment.customer(&mut server);
    let receiver = Receiver::start().expect("a receiver");
    let url = receiver.url();
    let every = customer.rule(json!({"result": ["denied"]}), &url).await;
    // Two of three matches have no delivery of their own.
    let third = json!({"name": "Every third", "match": {"result": ["denied"]}, "url": url,
        "threshold": {"count": 3, "window_s": 600}});
    let third = customer.make_rule(&third).await;
    let matched = async |rule: &str, matches: u64, alerts: u64| {
        eventually(DEADLINE, "all are counted", async || {
            let stats =
                customer.get_json(&format!("/v1/alert-rules/{rule}")).await["stats"].clone();
            let balance = customer
                .get_json(&format!("/v1/alert-rules/{rule}/balance"))
                .await;
            let is_right = stats["matched_24h"] == matches && balance["matched"] == alerts;
            let is_right = is_right && balance["balanced"] == true && balance["fresh"] == true;
            if is_right {
                Ok(())
            } else {
                Err((stats, balance))
            }
        })
        .await;
    };
    for number in 0..5 {
        customer.ingest(&event(&format!("agent-{number}"))).await;
    }
    receiver.wait_for(5 + 1, DEADLINE).await;
    matched(&every, 5, 5).await;
    matched(&third, 5, 1).await;

    // As if the journal had been put back to an earlier state.
    index.kill();
    deployment.sql("UPDATE journal_watermark SET applied_sequence = applied_sequence + 1000");
    let _index = deployment.serve("index");
    customer.ingest(&event("agent-5")).await;
    receiver.wait_for(6 + 2, DEADLINE).await;
    matched(&every, 6, 6).await;
    matched(&third, 6, 2).await;
}

#[tokio::test]
async fn a_log_that_lost_what_was_not_applied_yet_raises_an_alarm_and_goes_on() {
    let deployment = one_log();
    let mut api = deployment.serve("api");
    let customer = deployment.customer(&mut api);
    customer.ingest(&event("lost")).await;
    let stream = format!("{}_EVENTS_0", namespace(&deployment));
    publish(&format!("$JS.API.STREAM.PURGE.{stream} _INBOX.purged"), b"");
    customer.ingest(&event("kept")).await;
    let mut index = deployment.serve("index");
    wait_until_fresh(&customer, "/v1/audit/events").await;
    assert_eq!(agents(&customer).await, ["kept"]);
    let gaps = counted(&customer.at(&mut index), GAPS).await;
    assert!((gaps - 1.0).abs() < 0.5, "{gaps}");
    index.wait_for_line(DEADLINE, |line| {
        line.contains("ERROR") && line.contains(&stream)
    });
}

#[tokio::test]
async fn a_record_of_a_newer_version_holds_up_none_before_it() {
    let deployment = one_log();
    let mut api = deployment.serve("api");
    let customer = deployment.customer(&mut api);
    customer.ingest(&event("before")).await;
    publish(&format!("{}.ev.0", namespace(&deployment)), b"\x7fnewer");
    customer.ingest(&event("after")).await;
    let _index = deployment.serve("index");
    eventually(DEADLINE, "what is before it is listed", async || {
        let agents = agents(&customer).await;
        if agents == ["before"] {
            Ok(())
        } else {
            Err(agents)
        }
    })
    .await;
}
