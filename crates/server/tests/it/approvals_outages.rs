//! Something goes away while people are asked: agents and people go on, and nothing is told twice or never.

use std::time::Duration;

use domain::{
    DecisionId, UserId,
    approval::{Refused, Resolution, Resolver},
};
use serde_json::{Value, json};
use testkit::eventually;
use uuid::Uuid;

use crate::{
    approvals::{again, refund},
    decisions::PAYMENTS,
    deployment::{DEADLINE, Deployment, Running, ok},
    errors::problem,
};

#[tokio::test]
async fn without_postgresql_people_are_asked_and_what_they_approve_happens() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let mut server = deployment.serve_all();
    let customer = deployment.customer(&mut server);
    customer.approve_alone().await;
    customer.put_in_force(PAYMENTS).await;
    postgres.stop();

    let id = customer.escalate(&refund()).await;
    assert_eq!(customer.pending().await.len(), 1);
    let waiting = customer.begin_to_wait(&id).await;
    customer.resolve(&id, &json!({"approve": true})).await;
    assert_eq!(ok(waiting).await["decision"], "allow");
    let mut newcomer = deployment.serve("api");
    let elsewhere = customer.at(&mut newcomer);
    let allowed = elsewhere.decide(&again(&refund(), &id)).await;
    assert_eq!(allowed["decision"], "allow", "{allowed}");
    let used = customer.decide(&again(&refund(), &id)).await;
    assert_eq!(used["decision"], "deny");
    let unknown = "/v1/runtime/decisions/dec_01jcq3k5m8e9ratvw2x4y6z8ab";
    let unknown = problem(customer.get(unknown).await, 503).await;
    assert_eq!(unknown["code"], "STORE_UNAVAILABLE");

    postgres.restart().expect("PostgreSQL starts again");
    let ends = eventually(DEADLINE, "it is listed", async || {
        let answer = customer.get("/v1/audit/events?event_type=approval").await;
        let page: Value = answer.json().await.ok()?;
        let ends = page["data"].as_array()?.clone();
        (!ends.is_empty()).then_some(ends)
    });
    let ends = ends.await;
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0]["decision_id"], id);
}

#[tokio::test]
async fn what_was_resolved_by_a_node_that_died_before_it_told_is_told_by_another_once() {
    let mut running = Running::start(Deployment::new());
    let customer = running.customer.clone();
    customer.put_in_force(PAYMENTS).await;
    let id = customer.escalate(&refund()).await;
    running.server.kill();

    // As a node leaves it that is killed right after the journal has the resolution.
    let journal = running.deployment.journal().await;
    let mut found = journal.approval_changes();
    let entry = found.next().await.expect("changes").remove(0);
    assert_eq!(entry.approval.decision_id.to_string(), id);
    let resolution = Resolution {
        approved: true,
        by: Resolver::User(UserId::from_uuid(Uuid::from_u128(1))),
        at: entry.approval.asked_at.plus(Duration::from_millis(1)),
        note: None,
    };
    let (org, decision): (_, DecisionId) = (entry.approval.org_id, entry.approval.decision_id);
    let resolved = journal.change_approval::<Refused>(org, decision, |approval| {
        approval.resolve(resolution.clone())
    });
    let resolved = resolved.await.expect("an answer").expect("it is there");
    assert!(!resolved.expect("resolved").approval.told);

    let mut nodes = [
        running.deployment.serve_all(),
        running.deployment.serve("api"),
    ];
    let customer = customer.at(&mut nodes[0]);
    let told = eventually(DEADLINE, "the trail is told", async || {
        let ends = customer.ends().await;
        let entry = journal.approval(org, decision).await.ok()??;
        (entry.approval.told && !ends.is_empty()).then_some(ends)
    });
    let told = told.await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["result"], "approved");
    assert_eq!(told[0]["decision_id"], id);
    let allowed = customer.decide(&again(&refund(), &id)).await;
    assert_eq!(allowed["decision"], "allow");
}
