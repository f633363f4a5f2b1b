//! What the policies of a set make of a question: a table of cases, most of them about what must not
//! be allowed by accident.

use policy::{CedarRequest, Decided, Party, PolicySet, Question, Verdict, starter};
use serde_json::{Map, Value, json};

const ALL: &str = r#"@id("all") permit (principal, action, resource);"#;

/// A question about `payments.create`, with what is usual unless it is said otherwise.
struct Case {
    policies: String,
    context: Value,
    payload: Option<Value>,
    is_approved: bool,
}

fn case(policies: &[&str]) -> Case {
    Case {
        policies: policies.join("\n"),
        context: json!({}),
        payload: None,
        is_approved: false,
    }
}

impl Case {
    fn context(self, context: Value) -> Self {
        Self { context, ..self }
    }

    fn payload(self, payload: Value) -> Self {
        Self {
            payload: Some(payload),
            ..self
        }
    }

    fn approved(self) -> Self {
        Self {
            is_approved: true,
            ..self
        }
    }

    fn decide(self) -> Decided {
        let question = question("payments.create", self.context);
        let asked = CedarRequest::new(&question).expect("a question");
        let set = PolicySet::read(&self.policies, None).expect("policies");
        set.decide(&asked, self.payload.as_ref(), self.is_approved)
    }
}

fn question(action: &str, context: Value) -> Question {
    let Value::Object(context) = context else {
        panic!("a context is an object")
    };
    Question::of_agent("agent-1", action, Some("Account:77"), context)
}

fn ids(decided: &Decided) -> Vec<&str> {
    decided.policies.iter().map(|policy| &*policy.id).collect()
}

#[test]
fn the_starter_allows() {
    let decided = case(&[starter::POLICIES]).decide();
    assert_eq!(decided.verdict, Verdict::Allow);
    assert_eq!(ids(&decided), ["allow-all"]);
    assert_eq!(decided.reason, "A policy permits this.");
}

#[test]
fn nothing_is_allowed_without_a_permit() {
    let decided = case(&[]).decide();
    assert_eq!(decided.verdict, Verdict::Deny);
    assert_eq!(decided.reason, "No policy permits this.");
    assert_eq!(ids(&decided), [""; 0]);
}

/// Cedar passes over a policy that fails. Each of these is a forbid that would have denied, had the
/// question been as its author imagined it.
#[test]
fn a_forbid_that_fails_denies() {
    let conditions = [
        ("context.amount > 100", json!({})),
        ("context.amount > 100", json!({"Amount": 500})),
        ("context.amount > 100", json!({"amount": "500"})),
        ("context.amount > 100", json!({"amount": 500.5})),
        ("context.amount > 100", json!({"amount": {"value": 500}})),
        ("context.amount * 100 > 5000", json!({"amount": i64::MAX})),
        ("context.amount - 1 > 100", json!({"amount": i64::MIN})),
        ("context.card.country == \"KP\"", json!({"card": {}})),
        (
            "context.tags.contains(\"secret\")",
            json!({"tags": "secret"}),
        ),
        ("principal.team == \"sales\"", json!({})),
        ("resource.owner == \"nobody\"", json!({})),
        (
            "ip(context.address).isLoopback()",
            json!({"address": "localhost"}),
        ),
        (
            "decimal(context.rate).greaterThan(decimal(\"0.1\"))",
            json!({"rate": "0.123456"}),
        ),
    ];
    for (condition, context) in conditions {
        let forbid = format!(
            r#"@id("limit") @reason("Too much.") forbid (principal, action, resource) when {{ {condition} }};"#
        );
        let decided = case(&[ALL, &forbid]).context(context.clone()).decide();
        assert_eq!(decided.verdict, Verdict::Deny, "{condition} of {context}");
        assert_eq!(decided.errors[0].id, "limit");
        assert!(!decided.errors[0].error.is_empty());
        assert!(decided.reason.contains("could not be evaluated"));
    }
}

#[test]
fn a_permit_that_fails_denies_whatever_else_permits() {
    let failing = r#"@id("b") permit (principal, action, resource) when { context.is_admin };"#;
    let decided = case(&[ALL, failing]).decide();
    assert_eq!(decided.verdict, Verdict::Deny);
    assert_eq!(decided.errors[0].id, "b");
}

#[test]
fn a_policy_for_something_else_cannot_fail() {
    let other = r#"@id("b") forbid (principal, action == Action::"files.read", resource) when { context.is_admin };"#;
    assert_eq!(case(&[ALL, other]).decide().verdict, Verdict::Allow);
}

#[test]
fn approval_does_not_lift_an_error() {
    let failing = r#"@id("b") @verdict("escalate") forbid (principal, action, resource) when { context.amount > 1 };"#;
    let decided = case(&[ALL, failing]).approved().decide();
    assert_eq!(decided.verdict, Verdict::Deny);
}

#[test]
fn what_fails_does_not_hide_what_forbids() {
    let forbid = r#"@id("b") @reason("Never.") forbid (principal, action, resource);"#;
    let failing = r#"@id("c") permit (principal, action, resource) when { context.is_admin };"#;
    let decided = case(&[ALL, forbid, failing]).decide();
    assert_eq!(
        (decided.verdict, &*decided.reason),
        (Verdict::Deny, "Never.")
    );
    assert_eq!(ids(&decided), ["b"]);
    assert_eq!(decided.errors[0].id, "c");
}

const ASK: &str = r#"@id("ask") @verdict("escalate") @reason("Ask.") forbid (principal, action in Action::"payments", resource);"#;
const NEVER: &str = r#"@id("never") @reason("Never.") forbid (principal, action in Action::"payments", resource) when { context has evil };"#;

#[test]
fn a_person_is_asked_and_approves() {
    let decided = case(&[ALL, ASK]).decide();
    assert_eq!(
        (decided.verdict, &*decided.reason),
        (Verdict::Escalate, "Ask.")
    );
    assert_eq!(ids(&decided), ["ask"]);

    let decided = case(&[ALL, ASK]).approved().decide();
    assert_eq!(decided.verdict, Verdict::Allow);
    assert_eq!(ids(&decided), ["all"]);
}

#[test]
fn nobody_is_asked_in_vain() {
    let decided = case(&[ASK]).decide();
    assert_eq!(decided.verdict, Verdict::Deny);
    assert_eq!(
        decided.reason,
        "No policy permits this. Nobody is asked to approve it."
    );

    let decided = case(&[REDACT, ASK]).decide();
    assert_eq!(
        decided.verdict,
        Verdict::Deny,
        "approved, it could not be modified"
    );
    assert!(
        decided.reason.contains("Send `payload`."),
        "{}",
        decided.reason
    );
}

#[test]
fn approval_does_not_lift_a_plain_forbid() {
    for is_approved in [false, true] {
        let case = Case {
            is_approved,
            ..case(&[ALL, ASK, NEVER]).context(json!({"evil": true}))
        };
        let decided = case.decide();
        assert_eq!(
            (decided.verdict, &*decided.reason),
            (Verdict::Deny, "Never.")
        );
        assert_eq!(ids(&decided), ["never"]);
    }
}

const REDACT: &str = r#"@id("redact") @obligation("[{\"op\":\"remove\",\"path\":\"/card\"}]") permit (principal, action, resource);"#;
const STAMP: &str = r#"@id("stamp") @obligation("[{\"op\":\"add\",\"path\":\"/by\",\"value\":\"us\"},{\"op\":\"replace\",\"path\":\"/text\",\"value\":\"-\"}]") permit (principal, action, resource);"#;

#[test]
fn a_permit_may_oblige_to_a_change() {
    let payload = json!({"text": "hello", "card": "4111"});
    let decided = case(&[ALL, REDACT, STAMP])
        .payload(payload.clone())
        .decide();
    assert_eq!(decided.verdict, Verdict::Modify);
    assert_eq!(ids(&decided), ["redact", "stamp"]);
    assert_eq!(
        decided.modified_payload,
        Some(json!({"text": "-", "by": "us"}))
    );
    let annotations = &decided.policies[0].annotations;
    assert!(
        annotations.is_empty(),
        "the obligation was carried out: {annotations:?}"
    );

    let decided = case(&[REDACT, ASK]).payload(payload.clone()).decide();
    assert_eq!(
        (decided.verdict, decided.modified_payload),
        (Verdict::Escalate, None)
    );
    assert_eq!(decided.if_approved, Some(json!({"text": "hello"})));
    let decided = case(&[REDACT, ASK]).payload(payload).approved().decide();
    assert_eq!(decided.verdict, Verdict::Modify);
    assert_eq!(decided.if_approved, None);
}

#[test]
fn what_is_not_there_needs_no_removing() {
    let decided = case(&[REDACT]).payload(json!({"text": "hello"})).decide();
    assert_eq!(decided.verdict, Verdict::Modify);
    assert_eq!(decided.modified_payload, Some(json!({"text": "hello"})));
}

#[test]
fn a_change_that_cannot_be_made_denies() {
    let decided = case(&[ALL, REDACT, STAMP])
        .payload(json!({"card": 1}))
        .decide();
    assert_eq!(
        (decided.verdict, decided.modified_payload),
        (Verdict::Deny, None)
    );
    assert_eq!(
        decided.reason,
        "The payload cannot be modified as the policy `stamp` requires: `/text`: path is invalid."
    );
    let decided = case(&[ALL, REDACT]).decide();
    assert_eq!(decided.verdict, Verdict::Deny);
    assert!(
        decided.reason.contains("Send `payload`."),
        "{}",
        decided.reason
    );
}

#[test]
fn a_change_that_makes_a_payload_too_long_denies() {
    let payload = json!({"text": "x".repeat(policy::obligation::MODIFIED_BYTES_MAX)});
    let decided = case(&[REDACT]).payload(payload).decide();
    assert_eq!(
        (decided.verdict, decided.modified_payload),
        (Verdict::Deny, None)
    );
}

#[test]
fn an_action_is_in_the_groups_of_its_name() {
    let forbid = r#"@id("no") forbid (principal, action in Action::"payments.refund", resource);"#;
    let set = PolicySet::read(&format!("{ALL}{forbid}"), None).expect("policies");
    let cases = [
        ("payments.refund", Verdict::Deny),
        ("payments.refund.partial", Verdict::Deny),
        ("payments.refund.partial.again", Verdict::Deny),
        ("payments.refunds", Verdict::Allow),
        ("payments.refund_all", Verdict::Allow),
        ("payments", Verdict::Allow),
        ("x.payments.refund", Verdict::Allow),
        (".payments.refund", Verdict::Allow),
        ("payments.refund.", Verdict::Deny),
    ];
    for (action, verdict) in cases {
        let asked = CedarRequest::new(&question(action, json!({}))).expect("a question");
        assert_eq!(set.decide(&asked, None, false).verdict, verdict, "{action}");
    }
}

#[test]
fn properties_are_attributes() {
    let policies = r#"
        @id("own") permit (principal is User, action, resource is Doc)
        when { principal.team == resource.team && principal.level >= 2 };
    "#;
    let set = PolicySet::read(policies, None).expect("policies");
    let party = |kind: &str, properties: Value| {
        let properties: Map<String, Value> = serde_json::from_value(properties).expect("an object");
        Party::of_subject(kind, "1", properties)
    };
    let ask = |principal, resource| {
        let question = Question {
            principal,
            resource,
            ..question("docs.read", json!({}))
        };
        set.decide(
            &CedarRequest::new(&question).expect("a question"),
            None,
            false,
        )
        .verdict
    };
    let doc = || party("Doc", json!({"team": "a"}));
    assert_eq!(
        ask(party("User", json!({"team": "a", "level": 2})), doc()),
        Verdict::Allow
    );
    assert_eq!(
        ask(party("User", json!({"team": "b", "level": 2})), doc()),
        Verdict::Deny
    );
    assert_eq!(
        ask(party("User", json!({"team": "a"})), doc()),
        Verdict::Deny
    );
    assert_eq!(
        ask(party("agent", json!({"team": "a", "level": 2})), doc()),
        Verdict::Deny
    );
}

#[test]
fn twenty_policies_are_told_and_the_rest_counted() {
    let forbids: Vec<String> = (0..25)
        .map(|number| format!(r#"@id("f{number:02}") forbid (principal, action, resource);"#))
        .collect();
    let failing: Vec<String> = (0..23)
        .map(|number| {
            format!(
                r#"@id("x{number:02}") permit (principal, action, resource) when {{ context.x }};"#
            )
        })
        .collect();
    let decided = case(&[&forbids.join(""), &failing.join("")]).decide();
    assert_eq!((decided.policies.len(), decided.policies_left_out), (20, 5));
    assert_eq!((decided.errors.len(), decided.errors_left_out), (20, 3));
    assert_eq!(decided.policies[0].id, "f00");
    assert_eq!(decided.errors[19].id, "x19");
}

const SCHEMA: &str = r#"
    entity Agent; entity Account;
    entity User = { level: Long };
    action "payments.create" appliesTo { principal: [Agent, User], resource: Account, context: { amount: Long, note?: String } };
"#;

#[test]
fn a_question_that_does_not_fit_the_schema_is_denied() {
    let set = PolicySet::read(ALL, Some(SCHEMA)).expect("policies");
    let ask = |question: &Question| {
        set.decide(
            &CedarRequest::new(question).expect("a question"),
            None,
            false,
        )
    };
    let fitting = question("payments.create", json!({"amount": 1}));
    assert_eq!(ask(&fitting).verdict, Verdict::Allow);
    let user = |properties: Value| Question {
        principal: Party {
            properties: serde_json::from_value(properties).expect("an object"),
            ..Party::new("User", "u")
        },
        ..fitting.clone()
    };
    assert_eq!(ask(&user(json!({"level": 1}))).verdict, Verdict::Allow);

    let others = [
        question("payments.create", json!({})),
        question("payments.create", json!({"amount": "1"})),
        question("payments.create", json!({"amount": 1, "more": 1})),
        question("payments.delete", json!({"amount": 1})),
        Question {
            resource: Party::new("Card", "1"),
            ..fitting.clone()
        },
        Question {
            principal: Party::new("Robot", "1"),
            ..fitting.clone()
        },
        user(json!({"level": "high"})),
        user(json!({"level": 1, "more": 1})),
    ];
    for question in others {
        let decided = ask(&question);
        assert_eq!(decided.verdict, Verdict::Deny, "{question:?}");
        assert!(decided.reason.contains("does not fit the schema"));
        assert_eq!(decided.errors.len(), 1);
        assert_eq!(decided.errors[0].id, "");
        assert!(!decided.errors[0].error.is_empty());
    }
}
