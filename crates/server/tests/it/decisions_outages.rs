//! A dependency goes away: agents are answered all the same, or told that they are not.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Stopwatch, eventually, own};

use crate::{
    decisions::PAYMENTS,
    deployment::{Customer, DEADLINE, Deployment, event},
    errors::problem,
    outages::patient,
};

fn refund(amount: u32) -> Value {
    json!({"agent_id": "billing", "action": "payments.refund", "context": {"amount": amount}})
}

/// What is answered by [`PAYMENTS`], of which nothing else would say both.
async fn assert_policies_decide(customer: &Customer, version: &Value) {
    let allowed = customer.decide(&refund(1)).await;
    assert_eq!(
        (&allowed["decision"], &allowed["policy_version"]),
        (&json!("allow"), version)
    );
    let question = json!({"agent_id": "billing", "action": "files.read"});
    assert_eq!(customer.decide(&question).await["decision"], "deny");
}

#[tokio::test]
async fn without_postgresql_decisions_go_on_also_on_a_node_that_starts_then() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let version = customer.put_in_force(PAYMENTS).await;
    assert_policies_decide(&customer, &version).await;

    postgres.stop();

    assert_policies_decide(&customer, &version).await;
    let mut newcomer = deployment.serve("api");
    assert_policies_decide(&customer.at(&mut newcomer), &version).await;

    postgres.restart().expect("PostgreSQL starts again");
    let recorded = eventually(DEADLINE, "all six are listed", async || {
        let listed = customer.all_events().await;
        let decisions = listed.iter().filter(|one| one["event_type"] == "decision");
        (decisions.count() == 6).then_some(())
    });
    recorded.await;
}

#[tokio::test]
async fn without_redis_decisions_go_on() {
    let mut redis = own::redis().expect("a Redis");
    let deployment = Deployment::new().with("REDIS__URL", &redis.url());
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    let version = customer.put_in_force(PAYMENTS).await;
    redis.kill();
    for _ in 0..20 {
        assert_policies_decide(&customer, &version).await;
    }
}

#[tokio::test]
async fn without_the_journal_nothing_is_answered_unless_the_organization_fails_open() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve_all();
    let mut closed = deployment.customer(&mut server);
    closed.http = patient();
    let open = deployment.customer(&mut server);
    for customer in [&closed, &open] {
        customer.put_in_force(PAYMENTS).await;
    }
    open.patch("/v1/policies", &json!({"fail_mode": "open"}))
        .await;
    for customer in [&closed, &open] {
        assert_eq!(customer.decide(&refund(1)).await["fallback"], false);
    }
    nats.kill();

    // First, because it waits for the journal, and would for what stands before it in the same partition too.
    let refused = problem(closed.post("/v1/runtime/decisions", &refund(2)).await, 503).await;
    assert_eq!(refused["code"], "JOURNAL_UNAVAILABLE");
    let started = Stopwatch::start();
    let answered = open.decide(&refund(2)).await;
    assert_eq!(answered["decision"], "allow");
    assert_eq!(answered["fallback"], true);
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    let denied = json!({"agent_id": "billing", "action": "files.read"});
    let answered = open.decide(&denied).await;
    assert_eq!(answered["decision"], "deny", "open does not mean allowed");
    let answered = open.decide(&refund(2000)).await;
    assert_eq!(answered["decision"], "deny", "nobody can be asked");

    nats.restart().expect("NATS starts again");
    eventually(DEADLINE, "it is recorded again", async || {
        let answer = open.post("/v1/runtime/decisions", &refund(3)).await;
        let answer: Value = answer.json().await.ok()?;
        (answer["fallback"] == false).then_some(())
    })
    .await;
    let of_closed = eventually(DEADLINE, "the first one is listed", async || {
        let listed = closed.all_events().await;
        let decisions = listed.iter().filter(|one| one["event_type"] == "decision");
        let count = decisions.count();
        (count > 0).then_some(count)
    });
    // What was answered is listed. What was refused may be too: the client of NATS still holds the message when we give
    // up, and sends it once the journal is back. Nobody was told to go ahead.
    let of_closed = of_closed.await;
    assert!((1..=2).contains(&of_closed), "{of_closed}");
}

#[tokio::test]
async fn what_was_answered_before_it_was_recorded_is_in_the_trail_once_the_journal_is_back() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    customer.put_in_force(PAYMENTS).await;
    customer
        .patch("/v1/policies", &json!({"fail_mode": "open"}))
        .await;
    assert_eq!(customer.decide(&refund(1)).await["fallback"], false);
    nats.kill();
    let answered = customer.decide(&refund(2)).await;
    assert_eq!(answered["fallback"], true, "{answered}");
    nats.restart().expect("NATS starts again");
    let listed = eventually(DEADLINE, "it is listed", async || {
        let listed = customer.all_events().await;
        let id = &answered["decision_id"];
        listed.into_iter().find(|one| one["decision_id"] == *id)
    });
    assert_eq!(listed.await["result"], "allowed");
}

#[tokio::test]
async fn a_node_that_does_not_know_the_policies_answers_nothing_without_the_journal() {
    let mut nats = own::nats().expect("NATS");
    let deployment = Deployment::on_journal(&nats.url());
    let mut server = deployment.serve_all();
    let mut customer = deployment.customer(&mut server);
    customer.put_in_force(PAYMENTS).await;
    customer
        .patch("/v1/policies", &json!({"fail_mode": "open"}))
        .await;
    assert_eq!(customer.decide(&refund(1)).await["decision"], "allow");
    customer.http = patient();
    let mut second = deployment.serve("api");
    let elsewhere = customer.at(&mut second);
    // So that the second node knows the key, and nothing of the policies.
    elsewhere.ingest(&event("agent-1")).await;
    nats.kill();

    let question = json!({"agent_id": "billing", "action": "files.read"});
    let refused = elsewhere.post("/v1/runtime/decisions", &question).await;
    let refused = problem(refused, 503).await;
    assert_eq!(refused["code"], "JOURNAL_UNAVAILABLE", "{refused}");
    let answered = customer.decide(&question).await;
    assert_eq!(
        (&answered["decision"], &answered["fallback"]),
        (&json!("deny"), &json!(true)),
        "who knows them answers"
    );
}
