//! Whose approval it is: nobody approves what they asked for, and no key takes the places of the others.

use domain::account::Scope;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    approvals::{again, refund},
    decisions::{PAYMENTS, recorded},
    deployment::{Customer, DEADLINE, Deployment, Running, ok},
    errors::problem,
    people::Person,
};

/// How many of one key may be pending, and how many of all.
const PER_KEY: usize = 100;
const MOST: usize = 1_000;
const AT_A_TIME: usize = 20;

/// A key that may do everything, as the first of an organization may.
async fn whole_key(person: &Person) -> Customer {
    let all = Scope::ALL.map(Scope::as_str);
    person.key(&all).await
}

async fn fill(key: &Customer, count: usize) -> Vec<String> {
    stream::iter(0..count)
        .map(|_| async { key.escalate(&refund()).await })
        .buffer_unordered(AT_A_TIME)
        .collect()
        .await
}

#[tokio::test]
async fn nobody_approves_what_they_asked_for_unless_the_organization_says_so() {
    let running = Running::start(Deployment::new());
    let person = Person::founder(&running.customer.base_url).await;
    let (agent, other) = (whole_key(&person).await, whole_key(&person).await);
    agent.put_in_force(PAYMENTS).await;
    let id = agent.escalate(&refund()).await;
    let resolve = format!("/v1/runtime/decisions/{id}/resolve");
    let yes = json!({"approve": true});
    let refused = problem(agent.post(&resolve, &yes).await, 403).await;
    assert_eq!(refused["code"], "FORBIDDEN");
    let detail = refused["detail"].as_str().expect("a text");
    assert!(detail.contains("self_approval_allowed"), "{detail}");
    let denied = agent.decide(&again(&refund(), &id)).await;
    assert_eq!(denied["decision"], "deny", "nobody has approved it");
    // Who asked is told to whoever decides.
    let shown = other.get_json(&format!("/v1/runtime/approvals/{id}")).await;
    let asked_by = shown["asked_by"].as_str().expect("a key");
    assert!(asked_by.starts_with("key_"), "{shown}");
    let resolved = other.resolve(&id, &yes).await;
    assert_ne!(resolved["resolution"]["by"], asked_by);
    let allowed = agent.decide(&again(&refund(), &id)).await;
    assert_eq!(allowed["decision"], "allow", "{allowed}");
    let ends = other.ends().await;
    assert_eq!(ends[0]["metadata"]["asked_by"], asked_by);

    // A person is another, and to take it back is not to approve it.
    let by_person = agent.escalate(&refund()).await;
    let resolve = format!("/v1/runtime/decisions/{by_person}/resolve");
    ok(person.post(&resolve, &yes).await).await;
    let taken_back = agent.escalate(&refund()).await;
    agent.resolve(&taken_back, &json!({"approve": false})).await;

    agent.approve_alone().await;
    let alone = eventually(DEADLINE, "the setting is in force", async || {
        let id = agent.escalate(&refund()).await;
        let resolve = format!("/v1/runtime/decisions/{id}/resolve");
        let answer = agent.post(&resolve, &yes).await;
        answer.status().is_success().then_some(id)
    });
    let allowed = agent.decide(&again(&refund(), &alone.await)).await;
    assert_eq!(allowed["decision"], "allow", "{allowed}");
}

#[tokio::test]
async fn one_key_that_asks_without_end_leaves_room_for_the_others() {
    let running = Running::start(Deployment::new());
    let person = Person::founder(&running.customer.base_url).await;
    let (greedy, honest) = (whole_key(&person).await, whole_key(&person).await);
    greedy.put_in_force(PAYMENTS).await;
    let ids = fill(&greedy, PER_KEY).await;
    let denied = greedy.decide(&refund()).await;
    assert_eq!(denied["decision"], "deny");
    let reason = denied["reason"].as_str().expect("why");
    assert!(reason.contains("this API key already has"), "{reason}");
    let event = recorded(&honest, &denied).await;
    assert_eq!(
        event["metadata"]["refused"]["why"],
        "too_many_pending_of_key"
    );
    honest.escalate(&refund()).await;
    honest.resolve(&ids[0], &json!({"approve": false})).await;
    greedy.escalate(&refund()).await;
    let denied = greedy.decide(&refund()).await;
    assert_eq!(denied["decision"], "deny", "there was room for one");
}

#[tokio::test]
async fn the_thousand_and_first_that_waits_is_denied_until_one_is_resolved() {
    let running = Running::start(Deployment::new());
    let person = Person::founder(&running.customer.base_url).await;
    let customer = whole_key(&person).await;
    customer.put_in_force(PAYMENTS).await;
    let mut ids = Vec::new();
    for _ in 0..MOST / PER_KEY {
        let key = person.key(&["decisions:write"]).await;
        ids.extend(fill(&key, PER_KEY).await);
    }
    let denied = customer.decide(&refund()).await;
    assert_eq!(denied["decision"], "deny");
    let reason = denied["reason"].as_str().expect("why");
    assert!(reason.contains("maximum number of requests"), "{reason}");

    // Oldest first, page by page.
    let mut listed = Vec::new();
    let mut path = "/v1/runtime/approvals?limit=300".to_owned();
    loop {
        let page = customer.get_json(&path).await;
        listed.extend(page["data"].as_array().expect("data").clone());
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/runtime/approvals?limit=300&cursor={cursor}"),
            None => break,
        }
    }
    let text = |one: &Value| one["decision_id"].as_str().expect("an id").to_owned();
    let listed: Vec<String> = listed.iter().map(text).collect();
    ids.sort_unstable();
    assert_eq!(listed, ids);

    customer
        .resolve(&listed[0], &json!({"approve": false}))
        .await;
    // There is room for one of the two, although none is opened before both are decided.
    let both = json!({
        "subject": {"type": "Agent", "id": "billing"}, "action": {"name": "payments.refund"},
        "context": {"amount": 2000},
        "evaluations": [{"resource": {"type": "account", "id": "1"}}, {"resource": {"type": "account", "id": "2"}}],
    });
    let both = ok(customer.post("/access/v1/evaluations", &both).await).await;
    let verdict = |index: usize| &both["evaluations"][index]["context"]["verdict"];
    assert_eq!([verdict(0), verdict(1)], ["escalate", "deny"], "{both}");
}

#[tokio::test]
async fn what_cannot_be_recorded_takes_no_place_from_what_waits_for_a_person() {
    let running = Running::start(Deployment::new());
    let customer = &running.customer;
    customer.put_in_force(PAYMENTS).await;
    let mut unrecordable = refund();
    unrecordable["agent_id"] = json!("x".repeat(129));
    for _ in 0..PER_KEY {
        let refused = customer.post("/v1/runtime/decisions", &unrecordable).await;
        problem(refused, 422).await;
    }
    customer.escalate(&refund()).await;
}
