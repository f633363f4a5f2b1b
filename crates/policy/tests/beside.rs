//! What policies see beside a question: the server's clock and the payload, and nothing of it by the asker's word.

use domain::Timestamp;
use policy::{CedarRequest, Looks, PolicySet, Question, Verdict};
use serde_json::{Map, Value, json};

fn question(context: Value) -> Question {
    let context = serde_json::from_value(context).expect("an object");
    Question::of_agent("agent-1", "files.read", None, context)
}

fn noon() -> Timestamp {
    Timestamp::parse("2026-11-16T12:00:00Z").expect("a time")
}

/// What policies of one permit say at noon to a question with a payload.
fn at_noon(schema: Option<&str>, condition: &str, payload: &Value) -> Verdict {
    let policies =
        format!(r#"@id("a") permit (principal, action, resource) when {{ {condition} }};"#);
    let set = PolicySet::read(&policies, schema).expect("policies");
    let asked = CedarRequest::by_somebody(&question(json!({"note": "x"}))).expect("a question");
    set.decide_at(noon(), &asked, Some(payload), false).verdict
}

#[test]
fn policies_see_the_servers_clock_and_the_payload_whoever_asks() {
    let payload = json!({"amount": 5, "to": {"name": "Ann"}, "none": null, "rate": 0.5});
    for condition in [
        r#"context.server.now == datetime("2026-11-16T12:00:00Z")"#,
        r#"context.server.now.toTime() == duration("12h")"#,
        r#"context.payload.amount == 5 && context.payload.to.name == "Ann""#,
        r#"!(context.payload has none) && context.payload.rate == "0.5""#,
        r#"context.note == "x""#,
    ] {
        assert_eq!(
            at_noon(None, condition, &payload),
            Verdict::Allow,
            "{condition}"
        );
    }
    let without = PolicySet::read(
        r#"@id("a") permit (principal, action, resource) unless { context.server has now || context has payload };"#,
        None,
    );
    let asked = CedarRequest::new(&question(json!({}))).expect("a question");
    let decided = without.expect("policies").decide(&asked, None, false);
    assert_eq!(
        decided.verdict,
        Verdict::Allow,
        "there is no clock and no payload"
    );
}

#[test]
fn a_question_does_not_say_what_only_the_server_says() {
    for (context, pointer) in [
        (json!({"server": {"now": 1}}), "/context/server"),
        (json!({"payload": {"amount": 1}}), "/context/payload"),
    ] {
        let question = question(context);
        let faults = CedarRequest::by_somebody(&question).expect_err("a fault");
        assert_eq!(faults[0].pointer, pointer);
        // One that was asked before the names were taken is what it was.
        let asked = CedarRequest::new(&question).expect("a question");
        let set = PolicySet::read(
            r#"@id("a") permit (principal, action, resource) when { context has server && context.server.now == 1 || context has payload && context.payload.amount == 1 };"#,
            None,
        );
        let decided = set
            .expect("policies")
            .decide_at(noon(), &asked, Some(&json!({})), false);
        assert_eq!(decided.verdict, Verdict::Allow, "{pointer}");
    }
}

#[test]
fn of_a_large_payload_policies_see_a_part_and_what_was_cut_denies_who_looks() {
    let payload =
        json!({"amount": 5, "text": "x".repeat(60_000), "more": vec!["y".repeat(1000); 10]});
    let looks = |condition: &str| at_noon(None, condition, &payload);
    assert_eq!(looks("context.payload.amount == 5"), Verdict::Allow);
    assert_eq!(
        looks(r#"context.payload.text like "*x*" || true"#),
        Verdict::Deny
    );
    assert_eq!(
        looks(r#"context.payload.more.contains("z") || true"#),
        Verdict::Deny
    );
    let list = json!(vec![json!({"amount": 5}); 5_000]);
    let verdict = at_noon(None, "!(context.payload has amount)", &list);
    assert_eq!(verdict, Verdict::Deny, "it cannot be told");
}

#[test]
fn with_a_schema_policies_see_what_it_declares_of_payload_and_clock() {
    let schema = |context: &str| {
        format!(
            "entity Agent, Resource;
             action \"files.read\" appliesTo {{ principal: Agent, resource: Resource, context: {{ note?: String{context} }} }};"
        )
    };
    let payload = json!({"amount": 5, "card": "4111", "text": "x".repeat(60_000)});
    // What is not declared is not seen, and no reason to refuse.
    assert_eq!(at_noon(Some(&schema("")), "true", &payload), Verdict::Allow);
    let declared = schema(", server: { now: datetime }, payload?: { amount: Long, to?: String }");
    let looks = r#"context.payload.amount == 5 && context.server.now > datetime("2026-01-01")"#;
    assert_eq!(at_noon(Some(&declared), looks, &payload), Verdict::Allow);
    for other in [json!({"amount": "5"}), json!({"to": "Ann"}), json!([5])] {
        let verdict = at_noon(Some(&declared), "true", &other);
        assert_eq!(verdict, Verdict::Deny, "{other} does not fit the schema");
    }
}

#[test]
fn what_policies_look_at_beside_a_question_is_known_for_each() {
    let set = PolicySet::read(
        r#"@id("a") permit (principal, action, resource);
           @id("b") forbid (principal, action in Action::"payments", resource) when { context.payload.amount > 5 };
           @id("c") forbid (principal == Agent::"a", action == Action::"tools.shell", resource) unless { context.server has command };"#,
        None,
    )
    .expect("policies");
    let looks = |payload, command, server| Looks {
        payload,
        command,
        server,
    };
    for (action, looks) in [
        ("payments.create", looks(true, false, false)),
        ("tools.shell", looks(false, true, true)),
        ("files.read", Looks::default()),
    ] {
        let question = Question::of_agent("a", action, None, Map::new());
        let asked = CedarRequest::new(&question).expect("a question");
        assert_eq!(set.look_at(&asked), looks, "{action}");
    }
    // Whether a question fits a schema is up to all that is declared, whatever policies look at.
    let schema = r#"entity Agent, Resource;
        action "files.read" appliesTo { principal: Agent, resource: Resource, context: { payload?: { amount: Long } } };"#;
    let all = r#"@id("a") permit (principal, action, resource);"#;
    let set = PolicySet::read(all, Some(schema)).expect("policies");
    let asked = CedarRequest::new(&question(json!({}))).expect("a question");
    assert_eq!(set.look_at(&asked), looks(true, false, false));
}
