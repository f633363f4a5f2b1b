//! Approvals, when many want the same one at the same time.

use domain::{
    DecisionId, OrgId, Timestamp, UserId,
    approval::{Approval, NotSpendable, Refused, Resolution, Resolver, Spending},
};
use futures::future::join_all;
use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;

use crate::{DEADLINE, journal};

/// How many want it at the same time.
const MANY: u128 = 20;

fn asked() -> Approval {
    Approval {
        decision_id: DecisionId::from_uuid(Uuid::from_u128(1)),
        org_id: OrgId::from_uuid(Uuid::from_u128(2)),
        request_digest: "sha256:right".to_owned(),
        agent_id: "agent-1".to_owned(),
        action: "payments.refund".to_owned(),
        resource: None,
        reason: String::new(),
        policies: Vec::new(),
        policy_version: 2,
        policy_digest: String::new(),
        question: json!({}),
        payload: None,
        asked_at: at(0),
        expires_at: at(100),
        valid_s: 100,
        asked_by: None,
        self_approval_allowed: false,
        facts: Vec::new(),
        session_id: None,
        outcome: None,
        spent: None,
        told: false,
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix_millis(1_000 * seconds)
}

#[tokio::test]
async fn of_many_who_resolve_and_spend_an_approval_one_is_the_first_and_the_others_learn_of_it() {
    let journal = journal().await;
    let approval = asked();
    let (org, id) = (approval.org_id, approval.decision_id);
    assert_eq!(journal.approval(org, id).await.expect("an answer"), None);
    let opened = journal.open_approval(&approval).await.expect("opened");
    assert!(opened.is_some());
    let again = journal.open_approval(&approval).await.expect("it was us");
    assert_eq!(again, None);

    let resolution = |user: u128| Resolution {
        approved: true,
        by: Resolver::User(UserId::from_uuid(Uuid::from_u128(user))),
        at: at(1),
        note: None,
    };
    let resolve = |user| {
        let wanted = resolution(user);
        journal.change_approval(org, id, move |approval| approval.resolve(wanted.clone()))
    };
    let answers = join_all((0..MANY).map(resolve)).await;
    let answers: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.expect("an answer").expect("it is there"))
        .collect();
    let first: Vec<_> = answers.iter().filter_map(|one| one.as_ref().ok()).collect();
    assert_eq!(first.len(), 1);
    let heard = first[0].approval.resolution().expect("resolved").clone();
    for refused in answers.iter().filter_map(|one| one.as_ref().err()) {
        assert_eq!(*refused, Refused::AlreadyResolved(heard.clone()));
    }

    let spend = |by: u128| {
        let by = DecisionId::from_uuid(Uuid::from_u128(by));
        journal.change_approval(org, id, move |approval| {
            approval.spend(Spending {
                request_digest: "sha256:right",
                policy_digest: "",
                by,
                at: at(2),
            })
        })
    };
    let answers = join_all((10..10 + MANY).map(spend)).await;
    let (mut spent_by, mut refused) = (Vec::new(), 0);
    for answer in answers {
        match answer.expect("an answer").expect("it is there") {
            Ok(entry) => spent_by.push(entry.approval.spent.expect("spent").by),
            Err(why) => {
                assert_eq!(why, NotSpendable::Used);
                refused += 1;
            }
        }
    }
    assert_eq!((spent_by.len(), refused), (1, MANY - 1));
    let again = spend(spent_by[0].uuid().as_u128()).await;
    let again = again.expect("an answer").expect("it is there");
    assert!(
        again.is_ok(),
        "whose answer got lost learns that it was the first"
    );

    let mut changes = journal.approval_changes();
    let seen = timeout(DEADLINE, changes.next()).await.expect("in time");
    let seen = seen.expect("changes").remove(0);
    assert_eq!(seen, again.expect("spent"));
    let other = OrgId::from_uuid(Uuid::from_u128(3));
    let theirs = journal.approval(other, id).await.expect("an answer");
    assert_eq!(theirs, None, "another organization has none");
}
