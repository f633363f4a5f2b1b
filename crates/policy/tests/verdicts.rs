//! What the policies of a set make of a question.

use policy::{Asked, PolicySet, Question, Verdict};
use serde_json::{Value, json};

fn ask(policies: &str, context: Value) -> policy::Decided {
    ask_of(policies, "payments.create", context, None, false)
}

fn ask_of(
    policies: &str,
    action: &str,
    context: Value,
    payload: Option<&Value>,
    approved: bool,
) -> policy::Decided {
    let set = PolicySet::read(policies, None).expect("policies");
    let Value::Object(context) = context else {
        panic!("an object")
    };
    let question = Question::of_agent("agent-1", action, Some("account:77"), context);
    set.decide(
        &Asked::new(&question).expect("a question"),
        payload,
        approved,
    )
}

#[test]
fn the_starter_allows() {
    let decided = ask(policy::starter::POLICIES, json!({}));
    assert_eq!(decided.verdict, Verdict::Allow);
    assert_eq!(decided.policies[0].id, "allow-all");
    assert_eq!(decided.reason, "A policy permits this.");
}

#[test]
fn a_forbid_that_fails_denies() {
    let policies = r#"
        @id("all") permit (principal, action, resource);
        @id("limit") forbid (principal, action, resource) when { context.amount > 100 };
    "#;
    let decided = ask(policies, json!({}));
    assert_eq!(decided.verdict, Verdict::Deny);
    assert_eq!(decided.errors[0].id, "limit");
}
