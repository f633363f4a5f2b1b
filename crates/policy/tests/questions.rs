//! What can be asked: what has no meaning in a policy is refused at its place, and never left out.

use policy::{CedarRequest, Party, PolicySet, Question, Verdict};
use serde_json::{Map, Value, json};

fn question(context: Value) -> Question {
    let context = serde_json::from_value(context).expect("an object");
    Question::of_agent("agent-1", "files.read", None, context)
}

/// Where faults are, and what is said of the first.
fn refused(question: &Question) -> (Vec<String>, String) {
    let faults = CedarRequest::new(question).expect_err("a fault");
    let detail = faults[0].detail.clone();
    (
        faults.into_iter().map(|fault| fault.pointer).collect(),
        detail,
    )
}

fn is_allowed(condition: &str, context: Value) -> bool {
    let policies =
        format!(r#"@id("a") permit (principal, action, resource) when {{ {condition} }};"#);
    let set = PolicySet::read(&policies, None).expect("policies");
    let asked = CedarRequest::new(&question(context)).expect("a question");
    set.decide(&asked, None, false).verdict == Verdict::Allow
}

#[test]
fn values_mean_what_they_say() {
    let cases = [
        ("context.a == 5", json!({"a": 5})),
        ("context.a == -9223372036854775808", json!({"a": i64::MIN})),
        ("context.a == 9223372036854775807", json!({"a": i64::MAX})),
        ("context.a", json!({"a": true})),
        (
            r#"context.a == "\u{1F512}\0\"""#,
            json!({"a": "\u{1F512}\0\""}),
        ),
        (
            "context.a.contains(2) && context.a == [2, 1]",
            json!({"a": [1, 2, 2]}),
        ),
        ("context.a.b.c == 1", json!({"a": {"b": {"c": 1}}})),
        ("context[\"a b\"] == 1", json!({"a b": 1})),
        ("context[\"\"] == 1", json!({"": 1})),
        ("context.a == decimal(\"0.1\")", json!({"a": 0.1})),
        ("context.a == decimal(\"-12.3456\")", json!({"a": -12.3456})),
        (
            "context.a == decimal(\"99999999999.9999\")",
            json!({"a": 99_999_999_999.999_9}),
        ),
        ("context.a == 1000", json!({"a": 1e3})),
        ("context.a == 1 && context.a < 2", json!({"a": 1.0})),
        (
            "context.a == -9007199254740992",
            json!({"a": -9_007_199_254_740_992.0}),
        ),
        (
            "context.a == decimal(\"1.0\")",
            json!({"a": {"__extn": {"fn": "decimal", "arg": "1.0"}}}),
        ),
        (
            "context.a.isLoopback()",
            json!({"a": {"__extn": {"fn": "ip", "arg": "127.0.0.1"}}}),
        ),
        (
            "context.a < datetime(\"2027-01-01\")",
            json!({"a": {"__extn": {"fn": "datetime", "arg": "2026-11-16T12:00:00Z"}}}),
        ),
        (
            "context.a == duration(\"1h\")",
            json!({"a": {"__extn": {"fn": "duration", "arg": "60m"}}}),
        ),
        (
            "context.a == decimal(\"1.5\")",
            json!({"a": {"__extn": {"fn": "decimal", "arg": "1.5000"}}}),
        ),
        (
            "context.a == Shop::Order::\"1\"",
            json!({"a": {"__entity": {"type": "Shop::Order", "id": "1"}}}),
        ),
        (
            "context.a == {extn: 1, __arg: 2}",
            json!({"a": {"extn": 1, "__arg": 2}}),
        ),
    ];
    for (condition, context) in cases {
        assert!(
            is_allowed(condition, context.clone()),
            "{condition} of {context}"
        );
    }
    assert!(!is_allowed("context.a == 5", json!({"a": 6})));
}

#[test]
fn what_has_no_meaning_is_refused_where_it_is() {
    let huge: Value = serde_json::from_str("123456789012345678901234567890").expect("a number");
    let cases = [
        (json!({"a": null}), "/context/a", "Leave the member out"),
        (
            json!({"a": [1, {"b": null}]}),
            "/context/a/1/b",
            "Leave the member out",
        ),
        (
            json!({"a": u64::MAX}),
            "/context/a",
            "Integers may be at most",
        ),
        (json!({"a": huge}), "/context/a", "at most 4 digits"),
        (json!({"a": 0.12345}), "/context/a", "at most 4 digits"),
        (json!({"a": 1e-7}), "/context/a", "at most 4 digits"),
        (json!({"a": 1e300}), "/context/a", "at most 4 digits"),
        (
            json!({"a": 100_000_000_000.5}),
            "/context/a",
            "Send an integer",
        ),
        (json!({"a/b": {"c~d": null}}), "/context/a~1b/c~0d", "Leave"),
        (
            json!({"a": {"__extn": {"fn": "ip", "arg": "localhost"}}}),
            "/context/a",
            "not a valid ip",
        ),
        (
            json!({"a": {"__extn": {"fn": "system", "arg": "ls"}}}),
            "/context/a",
            "`fn` must be",
        ),
        (
            json!({"a": {"__extn": {"fn": "ip", "args": ["1.1.1.1"]}}}),
            "/context/a",
            "reserved for Cedar",
        ),
        (
            json!({"a": {"__extn": {"fn": "ip", "arg": "1.1.1.1"}, "b": 1}}),
            "/context/a",
            "nothing else",
        ),
        (
            json!({"a": {"__expr": "principal"}}),
            "/context/a",
            "reserved for Cedar",
        ),
        (
            json!({"a": {"__entity": {"type": "a b", "id": "1"}}}),
            "/context/a",
            "identifier",
        ),
        (
            json!({"a": {"__entity": "Agent::\"a\""}}),
            "/context/a",
            "reserved for Cedar",
        ),
    ];
    for (context, pointer, part) in cases {
        let (pointers, detail) = refused(&question(context.clone()));
        assert_eq!(pointers, [pointer], "{context}");
        assert!(detail.contains(part), "{detail}");
    }
}

#[test]
fn values_are_bounded() {
    let nested = |depth| (0..depth).fold(json!(1), |value, _| json!({ "a": value }));
    assert!(CedarRequest::new(&question(nested(32))).is_ok());
    assert_eq!(
        refused(&question(nested(33))).1,
        "Values may be nested at most 32 deep."
    );
    assert_eq!(
        refused(&question(nested(120))).1,
        "Values may be nested at most 32 deep."
    );

    let many = |count| json!({"a": vec![1; count]});
    assert!(CedarRequest::new(&question(many(4095))).is_ok());
    let (pointers, detail) = refused(&question(many(4096)));
    assert_eq!(pointers, ["/context/a/4095"]);
    assert!(detail.contains("4096 values"), "{detail}");

    let three = json!({"a": null, "b": {"c": null}, "d": 1, "e": u64::MAX});
    assert_eq!(
        refused(&question(three)).0,
        ["/context/a", "/context/b/c", "/context/e"]
    );

    let wrong: Map<String, Value> = (0..100).map(|n| (n.to_string(), Value::Null)).collect();
    assert_eq!(refused(&question(Value::Object(wrong))).0.len(), 20);
}

#[test]
fn every_door_leads_to_the_same_names() {
    let resource = |text| {
        let party = Question::of_agent("a", "b", text, Map::new()).resource;
        (party.kind, party.id)
    };
    let cases = [
        (None, "Resource", "unspecified"),
        (Some("Account:77"), "Account", "77"),
        (Some("file:/etc:x"), "file", "/etc:x"),
        (Some("Account:"), "Account", ""),
        (Some("plain"), "Resource", "plain"),
        (Some("a b:1"), "Resource", "a b:1"),
        (Some("1st:1"), "Resource", "1st:1"),
        (Some(":1"), "Resource", ":1"),
        (Some("in:1"), "Resource", "in:1"),
        (Some("__cedar:1"), "Resource", "__cedar:1"),
        (Some("Action:payments"), "Resource", "Action:payments"),
        (Some("\u{e9}:1"), "Resource", "\u{e9}:1"),
    ];
    for (text, kind, id) in cases {
        assert_eq!(resource(text), (kind.to_owned(), id.to_owned()), "{text:?}");
        let question = Question::of_agent("a", "b", text, Map::new());
        assert!(CedarRequest::new(&question).is_ok(), "{text:?}");
    }
    assert_eq!(
        Party::of_subject("agent", "a", Map::new()),
        Party::new("Agent", "a")
    );
}

/// Whatever `of_agent` takes for a type, Cedar must too.
#[test]
fn every_word_of_the_grammar_can_be_the_type_of_a_resource() {
    let words = [
        "permit",
        "forbid",
        "when",
        "unless",
        "principal",
        "action",
        "resource",
        "context",
        "true",
        "false",
        "if",
        "then",
        "else",
        "in",
        "is",
        "like",
        "has",
        "__cedar",
        "ip",
        "decimal",
        "datetime",
        "duration",
        "Set",
        "String",
        "Long",
        "Bool",
        "Boolean",
        "Record",
        "Entity",
        "Extension",
        "_",
        "__",
        "namespace",
        "type",
        "entity",
    ];
    for word in words {
        let question = Question::of_agent("a", "b", Some(&format!("{word}:1")), Map::new());
        assert!(CedarRequest::new(&question).is_ok(), "{word}");
    }
}

#[test]
fn ids_may_be_any_text() {
    let policies =
        r#"@id("a") permit (principal == Agent::"\"\\\u{0}\u{1F512}", action, resource);"#;
    let set = PolicySet::read(policies, None).expect("policies");
    let ask = |agent| {
        let question = Question::of_agent(agent, "a\"::b", Some("x:\n\""), Map::new());
        set.decide(
            &CedarRequest::new(&question).expect("a question"),
            None,
            false,
        )
        .verdict
    };
    assert_eq!(ask("\"\\\0\u{1F512}"), Verdict::Allow);
    assert_eq!(ask("\"\\\\0\u{1F512}"), Verdict::Deny);
}

#[test]
fn parties_and_actions_are_refused_by_name() {
    let base = question(json!({}));
    let of = |principal: Party| {
        refused(&Question {
            principal,
            ..base.clone()
        })
        .0
    };
    for kind in [
        "",
        "a b",
        "Action",
        "Shop::Action",
        "A::",
        "if",
        "A::in",
        &"x".repeat(129),
    ] {
        assert_eq!(of(Party::new(kind, "1")), ["/principal/type"], "{kind}");
    }
    let with = |properties: Value| Party {
        properties: serde_json::from_value(properties).expect("an object"),
        ..Party::new("User", "1")
    };
    assert_eq!(
        of(with(json!({"level": null}))),
        ["/principal/properties/level"]
    );

    let of = |action: &str| {
        refused(&Question {
            action: action.to_owned(),
            ..base.clone()
        })
        .0
    };
    assert_eq!(of(""), ["/action"]);
    assert_eq!(of(&".".repeat(257)), ["/action"]);
    let dots = Question {
        action: ".".repeat(256),
        ..base.clone()
    };
    assert!(CedarRequest::new(&dots).is_ok());

    let both = Question {
        principal: with(json!({"a": 1})),
        resource: with(json!({"a": 2})),
        ..base.clone()
    };
    assert_eq!(refused(&both).0, ["/resource/properties"]);
    let same = Question {
        principal: with(json!({"a": 1})),
        resource: with(json!({"a": 1})),
        ..base
    };
    assert!(CedarRequest::new(&same).is_ok());
}

#[test]
fn a_digest_names_a_question_whatever_the_order_of_members() {
    let parse = |text: &str| -> Question { serde_json::from_str(text).expect("a question") };
    let one = parse(
        r#"{"principal":{"type":"Agent","id":"a"},"action":"b","resource":{"type":"R","id":"c"},"context":{"x":1,"y":{"p":[1,2],"q":null}}}"#,
    );
    let two = parse(
        r#"{"context":{"y":{"q":null,"p":[1,2]},"x":1},"resource":{"id":"c","type":"R"},"action":"b","principal":{"id":"a","type":"Agent"}}"#,
    );
    let payload = json!({"a": 1});
    assert_eq!(one.digest(Some(&payload)), two.digest(Some(&payload)));
    assert_eq!(
        one.digest(None),
        "sha256:e1ad39038603e23f8e8b1825ea429852abc302b67880123c3f2c194ecf4e8a66",
        "approvals that wait are bound to the old digest"
    );

    let other = |change: &dyn Fn(&mut Question)| {
        let mut question = one.clone();
        change(&mut question);
        question.digest(None)
    };
    let digests = [
        one.digest(None),
        one.digest(Some(&payload)),
        one.digest(Some(&Value::Null)),
        one.digest(Some(&json!({"a": 1.0}))),
        one.digest(Some(&json!({"a": "1"}))),
        other(&|question| question.action = "c".to_owned()),
        other(&|question| question.principal.id = "b".to_owned()),
        other(&|question| question.principal.kind = "User".to_owned()),
        other(&|question| question.resource.id = "d".to_owned()),
        other(&|question| question.context = Map::new()),
        other(&|question| {
            question.context.insert("x".to_owned(), json!(2));
        }),
        other(&|question| {
            question
                .principal
                .properties
                .insert("x".to_owned(), json!(2));
        }),
        other(&|question| {
            question
                .resource
                .properties
                .insert("x".to_owned(), json!(2));
        }),
    ];
    let different: std::collections::HashSet<_> = digests.iter().collect();
    assert_eq!(different.len(), digests.len());
}

#[test]
fn a_question_is_read_as_it_was_recorded() {
    let mut question = question(json!({"b": [1, {"c": "d"}]}));
    question
        .principal
        .properties
        .insert("team".to_owned(), json!("x"));
    let text = serde_json::to_string(&question).expect("a question can be written");
    assert_eq!(
        serde_json::from_str::<Question>(&text).expect("and read"),
        question
    );
}

#[test]
fn a_payload_with_numbers_that_were_rounded_is_refused_where_they_are() {
    let payload =
        r#"{"a": [1.5, 1e300, 18446744073709551615], "b": {"c/d": 36893488147419103233}}"#;
    let payload: Value = serde_json::from_str(payload).expect("JSON");
    let faults = policy::payload::faults(&payload);
    let pointers: Vec<&str> = faults.iter().map(|fault| &*fault.pointer).collect();
    assert_eq!(pointers, ["/payload/a/1", "/payload/b/c~1d"]);
    assert_eq!(policy::payload::faults(&json!({"a": 1.0, "b": -1e15})), []);
}

#[test]
fn a_value_has_one_digest_whatever_the_order_of_members() {
    let read = |text| serde_json::from_str::<Value>(text).expect("JSON");
    let one = read(r#"{"a": {"x": 1, "y": [2]}, "b": 3}"#);
    let same = read(r#"{"b": 3, "a": {"y": [2], "x": 1}}"#);
    let other = read(r#"{"b": 3, "a": {"y": ["2"], "x": 1}}"#);
    assert_eq!(
        policy::digest::of_json(&one),
        policy::digest::of_json(&same)
    );
    assert_ne!(
        policy::digest::of_json(&one),
        policy::digest::of_json(&other)
    );
}
