//! What may become of an approval: tables of cases, and any sequence of them.

use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::*;

fn at(seconds: u32) -> Timestamp {
    Timestamp::from_unix_millis(1_794_735_000_000).plus(Duration::from_secs(seconds.into()))
}

fn decision(number: u128) -> DecisionId {
    DecisionId::from_uuid(Uuid::from_u128(number))
}

fn key(number: u128) -> KeyId {
    KeyId::from_uuid(Uuid::from_u128(number))
}

/// Asked at 0 by the key 1, over at 100, valid for 50.
fn asked() -> Approval {
    Approval {
        decision_id: decision(1),
        org_id: OrgId::from_uuid(Uuid::from_u128(1)),
        request_digest: "sha256:right".to_owned(),
        agent_id: "agent-1".to_owned(),
        action: "payments.refund".to_owned(),
        resource: None,
        reason: "Refunds need a person.".to_owned(),
        policies: vec!["refunds".to_owned()],
        policy_version: 2,
        policy_digest: "sha256:policies".to_owned(),
        question: json!({}),
        payload: None,
        asked_at: at(0),
        expires_at: at(100),
        valid_s: 50,
        asked_by: Some(key(1)),
        self_approval_allowed: false,
        facts: Vec::new(),
        session_id: None,
        outcome: None,
        spent: None,
        told: false,
    }
}

fn resolution(approved: bool, user: u128, seconds: u32) -> Resolution {
    Resolution {
        approved,
        by: Resolver::User(UserId::from_uuid(Uuid::from_u128(user))),
        at: at(seconds),
        note: None,
    }
}

fn resolved(approved: bool) -> Approval {
    let mut approval = asked();
    let outcome = approval.resolve(resolution(approved, 1, 10));
    assert_eq!(outcome, Ok(()));
    approval
}

#[test]
fn what_nobody_resolves_is_timed_out_when_its_time_is_over() {
    let approval = asked();
    for (seconds, status, decision) in [
        (0, Status::Pending, "escalate"),
        (99, Status::Pending, "escalate"),
        (100, Status::TimedOut, "deny"),
        (1_000, Status::TimedOut, "deny"),
    ] {
        assert_eq!(approval.status(at(seconds)), status);
        assert_eq!(approval.status(at(seconds)).decision(), decision);
    }
    assert_eq!(approval.ended_at(at(99)), None);
    assert_eq!(approval.ended_at(at(1_000)), Some(at(100)));
}

#[test]
fn what_a_person_said_stands_whatever_the_time() {
    for (approved, status, decision) in [
        (true, Status::Approved, "allow"),
        (false, Status::Denied, "deny"),
    ] {
        let approval = resolved(approved);
        assert_eq!(approval.status(at(1_000)), status);
        assert_eq!(approval.status(at(1_000)).decision(), decision);
        assert_eq!(approval.ended_at(at(1_000)), Some(at(10)));
    }
}

#[test]
fn only_the_first_to_resolve_it_is_heard_and_only_in_time() {
    let mut approval = resolved(true);
    let first = resolution(true, 1, 10);
    let refused = Err(Refused::AlreadyResolved(first.clone()));
    assert_eq!(approval.resolve(resolution(false, 2, 11)), refused);
    assert_eq!(approval.resolve(resolution(false, 2, 101)), refused);
    assert_eq!(approval.resolve(first), Ok(()), "the answer got lost");
    assert_eq!(
        asked().resolve(resolution(true, 1, 100)),
        Err(Refused::TimedOut)
    );
}

#[test]
fn nobody_approves_what_they_asked_for_unless_the_organization_lets_them() {
    let by_key = |number, approved| Resolution {
        by: Resolver::Key(key(number)),
        ..resolution(approved, 1, 10)
    };
    let mut approval = asked();
    assert_eq!(approval.resolve(by_key(1, true)), Err(Refused::OwnRequest));
    assert_eq!(approval.outcome, None);
    assert_eq!(
        approval.clone().resolve(by_key(1, false)),
        Ok(()),
        "taken back"
    );
    assert_eq!(
        approval.clone().resolve(by_key(2, true)),
        Ok(()),
        "another key"
    );
    let lenient = Approval {
        self_approval_allowed: true,
        ..asked()
    };
    let older = Approval {
        asked_by: None,
        ..asked()
    };
    for mut approval in [lenient, older] {
        assert_eq!(approval.resolve(by_key(1, true)), Ok(()));
    }
}

#[test]
fn a_time_out_that_was_noted_is_final_for_slow_clocks_too() {
    let mut approval = asked();
    approval.note_time_out(at(99));
    assert_eq!(approval.outcome, None, "it is not over");
    approval.note_time_out(at(100));
    assert_eq!(approval.status(at(50)), Status::TimedOut);
    assert_eq!(
        approval.resolve(resolution(true, 1, 50)),
        Err(Refused::TimedOut)
    );
    let mut approved = resolved(true);
    approved.note_time_out(at(100));
    assert_eq!(approved, resolved(true));
}

fn spending(request_digest: &str, by: u128, seconds: u32) -> Spending<'_> {
    Spending {
        request_digest,
        policy_digest: "sha256:policies",
        by: decision(by),
        at: at(seconds),
    }
}

#[test]
fn an_approval_is_no_good_once_other_policies_ask_for_it() {
    let mut approval = resolved(true);
    let changed = Spending {
        policy_digest: "sha256:others",
        ..spending("sha256:right", 2, 20)
    };
    assert_eq!(approval.spend(changed), Err(NotSpendable::PoliciesChanged));
    assert_eq!(approval.spent, None, "it is not used up by that");
    assert_eq!(approval.spend(spending("sha256:right", 2, 20)), Ok(()));
}

#[test]
fn an_approval_is_spent_once_for_its_own_request_and_in_time() {
    let right = "sha256:right";
    let cases = [
        ("pending", asked(), right, 50, Err(NotSpendable::Pending)),
        ("late", asked(), right, 100, Err(NotSpendable::TimedOut)),
        ("no", resolved(false), right, 50, Err(NotSpendable::Denied)),
        (
            "other",
            resolved(true),
            "x",
            50,
            Err(NotSpendable::Mismatch),
        ),
        ("in time", resolved(true), right, 60, Ok(())),
        (
            "lapsed",
            resolved(true),
            right,
            61,
            Err(NotSpendable::Lapsed),
        ),
    ];
    for (name, mut approval, digest, seconds, expected) in cases {
        let outcome = approval.spend(spending(digest, 2, seconds));
        assert_eq!(outcome, expected, "{name}");
        assert_eq!(approval.spent.is_some(), expected.is_ok(), "{name}");
    }
    let mut approval = resolved(true);
    assert_eq!(approval.spend(spending(right, 2, 20)), Ok(()));
    assert_eq!(approval.spend(spending(right, 2, 90)), Ok(()), "again");
    assert_eq!(
        approval.spend(spending(right, 3, 21)),
        Err(NotSpendable::Used)
    );
}

#[derive(Clone, Debug)]
enum Step {
    Resolve { approved: bool, user: u128 },
    Spend { right: bool, by: u128 },
    NoteTimeOut,
    Tell,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (any::<bool>(), 1..4u128).prop_map(|(approved, user)| Step::Resolve { approved, user }),
        (any::<bool>(), 2..6u128).prop_map(|(right, by)| Step::Spend { right, by }),
        Just(Step::NoteTimeOut),
        Just(Step::Tell),
    ]
}

proptest! {
    /// Times come in any order: two nodes do not agree about them.
    #[test]
    fn whatever_happens_in_whatever_order_it_ends_once_and_is_spent_once(
        steps in prop::collection::vec((step(), 0..250u32), 0..40),
    ) {
        let mut approval = asked();
        for (step, seconds) in steps {
            let before = approval.clone();
            match step {
                Step::Resolve { approved, user } => {
                    let wanted = resolution(approved, user, seconds);
                    if approval.resolve(wanted.clone()).is_ok() {
                        prop_assert_eq!(approval.resolution(), Some(&wanted));
                        prop_assert!(wanted.at < approval.expires_at);
                    }
                }
                Step::Spend { right, by } => {
                    let digest = if right { "sha256:right" } else { "sha256:wrong" };
                    if approval.spend(spending(digest, by, seconds)).is_ok() {
                        prop_assert!(right);
                        prop_assert_eq!(approval.spent.map(|spent| spent.by), Some(decision(by)));
                        prop_assert_eq!(approval.status(at(seconds)), Status::Approved);
                    }
                }
                Step::NoteTimeOut => approval.note_time_out(at(seconds)),
                Step::Tell => approval.told = true,
            }
            prop_assert!(before.outcome.is_none() || before.outcome == approval.outcome);
            prop_assert!(before.spent.is_none() || before.spent == approval.spent);
            if let Some(spent) = approval.spent {
                let given = approval.resolution().expect("resolved before it is spent");
                prop_assert!(given.approved && spent.at <= given.at.plus(approval.valid()));
            }
        }
    }
}
