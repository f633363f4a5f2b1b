//! Conservation: every match is accounted for, and what is not raises an alarm.

use serde_json::{Value, json};
use testkit::{Receiver, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, Running, event, http, ok};

pub(crate) async fn metric(customer: &Customer, name: &str) -> Option<f64> {
    let page = http()
        .get(format!("{}/metrics", customer.base_url))
        .send()
        .await;
    let page = page.expect("an answer").text().await.expect("a page");
    let line = page.lines().find(|line| line.starts_with(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

async fn balance(customer: &Customer, rule: &str) -> Value {
    customer
        .get_json(&format!("/v1/alert-rules/{rule}/balance"))
        .await
}

#[tokio::test]
async fn matches_tests_and_what_is_suppressed_or_withheld_all_add_up() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    let (well, refusing) = (
        Receiver::start().expect("one"),
        Receiver::start().expect("two"),
    );
    refusing.answer_with(413);
    let sends = customer.rule(json!({}), &well.url()).await;
    let fails = customer.rule(json!({}), &refusing.url()).await;
    let except = json!([{"event_type": ["rule_change", "delivery_failure"]}]);
    let shadow =
        json!({"name": "Shadow", "match": {}, "except": except, "url": well.url(), "shadow": true});
    let shadow = customer.make_rule(&shadow).await;
    let events: Vec<Value> = (0..200).map(|one| event(&format!("agent-{one}"))).collect();
    ok(customer
        .post("/v1/audit/events", &json!({"events": events}))
        .await)
    .await;
    ok(customer
        .post(&format!("/v1/alert-rules/{sends}/trigger"), &json!({}))
        .await)
    .await;
    for (rule, state) in [(&sends, "delivered"), (&fails, "failed")] {
        let balanced = eventually(DEADLINE, "all are settled", async || {
            let balance = balance(customer, rule).await;
            assert_eq!(balance["balanced"], true, "at every moment: {balance}");
            (balance[state] == 200).then_some(balance)
        })
        .await;
        assert_eq!(balanced["matched"], 200);
        assert_eq!(balanced["difference"], 0);
    }
    let balance_of_shadow = balance(customer, &shadow).await;
    assert_eq!(
        balance_of_shadow["withheld"],
        json!({"decided": 200, "found": 200})
    );
    assert_eq!(balance_of_shadow["matched"], 0);
    assert_eq!(balance(customer, &sends).await["tests"], 1);
    eventually(DEADLINE, "nothing is under way", async || {
        metric(customer, r#"watchbell_deliveries{state="pending"}"#).await == Some(0.0)
    })
    .await;
    assert_eq!(
        metric(customer, "watchbell_deliveries_unbalanced").await,
        Some(0.0)
    );
}

#[tokio::test]
async fn a_delivery_that_is_lost_from_the_store_raises_an_alarm() {
    let mut running = Running::start(Deployment::new());
    let customer = running.customer.clone();
    let receiver = Receiver::start().expect("a receiver");
    let rule = customer.rule(json!({}), &receiver.url()).await;
    for agent in ["agent-1", "agent-2"] {
        customer.ingest(&event(agent)).await;
    }
    let received = receiver.wait_for(2, DEADLINE).await;
    let lost = received[0].delivery_id().expect("an id");
    customer.delivery_in_state(lost, "delivered").await;
    assert_eq!(balance(&customer, &rule).await["balanced"], true);
    running
        .deployment
        .sql("DELETE FROM deliveries WHERE id = (SELECT max(id::text)::uuid FROM deliveries)");
    let off = balance(&customer, &rule).await;
    assert_eq!(
        (&off["balanced"], &off["difference"]),
        (&json!(false), &json!(1))
    );
    eventually(DEADLINE, "the alarm is raised", async || {
        metric(&customer, "watchbell_deliveries_unbalanced").await == Some(1.0)
    })
    .await;
    let line = running
        .server
        .wait_for_line(DEADLINE, |line| line.contains("deliveries do not add up"));
    assert!(line.contains(&rule) && line.contains("ERROR"), "{line}");
}

#[tokio::test]
async fn a_delivery_that_is_long_overdue_raises_an_alarm() {
    let deployment = Deployment::new();
    // Nobody delivers.
    let mut server = deployment.serve("api,index,match");
    let customer = deployment.customer(&mut server);
    customer.rule(json!({}), "https://example.com/hook").await;
    customer.ingest(&event("agent-1")).await;
    eventually(DEADLINE, "it is pending", async || {
        metric(&customer, r#"watchbell_deliveries{state="pending"}"#).await == Some(1.0)
    })
    .await;
    deployment.sql("UPDATE deliveries SET matched_at = matched_at - interval '11 minutes'");
    server.wait_for_line(DEADLINE, |line| line.contains("deliveries are overdue"));
    let late = metric(&customer, "watchbell_delivery_oldest_due_seconds").await;
    assert!(late.is_some_and(|late| late > 600.0), "{late:?}");
}
