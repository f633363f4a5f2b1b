//! Which texts can become a version, and what is said of those that cannot.

use policy::{
    CedarRequest, PolicySet, Question, Verdict,
    check::check,
    diff::{Texts, diff},
    flips::Flips,
    set::digest,
    starter,
    test::Test,
};
use serde_json::{Map, Value, json};

fn faults(policies: &str, schema: Option<&str>) -> Vec<(String, String)> {
    let faults = PolicySet::read(policies, schema).expect_err("a fault");
    faults
        .into_iter()
        .map(|fault| (fault.pointer, fault.detail))
        .collect()
}

fn permit(annotations: &str) -> String {
    format!("{annotations} permit (principal, action, resource);")
}

#[test]
fn faults_say_where_and_what_to_do() {
    let bad_patch =
        r#"@id("a") @obligation("[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"}]")"#;
    let cases = [
        (permit(""), "/policies/0", "Put @id(\"...\") before it."),
        (
            format!("{}\n  {}", permit("@id(\"a\")"), permit("")),
            "/policies/1",
            "line 2, column 4",
        ),
        (permit("@id(\"\")"), "/policies/0", "1 to 128 characters"),
        (
            permit(&format!("@id(\"{}\")", "x".repeat(129))),
            "/policies/0",
            "1 to 128 characters",
        ),
        (
            permit("@id(\"a/b\")").repeat(2),
            "/policies/a~1b",
            "Give it a different id.",
        ),
        (
            permit("@id(\"a\") @verdict(\"escalate\")"),
            "/policies/a",
            "only allowed on a forbid",
        ),
        (
            permit("@id(\"a\") @verdict").replace("permit", "forbid"),
            "/policies/a",
            "\"escalate\" or \"deny\"",
        ),
        (
            permit("@id(\"a\") @obligation(\"[]\")"),
            "/policies/a",
            "1 to 50 operations",
        ),
        (
            permit("@id(\"a\") @obligation(\"remove card\")"),
            "/policies/a",
            "must be a JSON patch",
        ),
        (
            permit(bad_patch),
            "/policies/a",
            "only `add`, `remove` and `replace`",
        ),
        (
            permit(r#"@id("a") @obligation("[{\"op\":\"remove\",\"path\":\"\"}]")"#),
            "/policies/a",
            "Use forbid instead",
        ),
        (
            permit("@id(\"a\") @obligation(\"[]\")").replace("permit", "forbid"),
            "/policies/a",
            "only allowed on a permit",
        ),
        (
            permit(&format!("@id(\"a\") @reason(\"{}\")", "x".repeat(501))),
            "/policies/a",
            "500 characters",
        ),
        (
            permit(&format!("@id(\"a\") @note(\"{}\")", "x".repeat(2001))),
            "/policies/a",
            "2000 bytes",
        ),
        (
            "@id(\"a\") permit (principal == ?principal, action, resource);".to_owned(),
            "/policies",
            "?principal",
        ),
        (
            "@id(\"a\")\npermit (principal, action resource);".to_owned(),
            "/policies",
            "line 2, column 27",
        ),
        ("permit".to_owned(), "/policies", "unexpected end of input"),
    ];
    for (text, pointer, part) in cases {
        let faults = faults(&text, None);
        assert_eq!(faults[0].0, pointer, "{text}: {faults:?}");
        assert!(faults[0].1.contains(part), "{text}: {faults:?}");
    }
    let faults = faults(starter::POLICIES, Some("entity Agent\nentity Agent;"));
    assert_eq!(faults[0].0, "/schema");
    assert!(faults[0].1.contains("line 2"), "{faults:?}");
}

#[test]
fn unknown_annotations_are_passed_on() {
    let policies = permit(r#"@id("a") @owner("payments-team") @severity"#);
    let set = PolicySet::read(&policies, None).expect("policies");
    let asked =
        CedarRequest::new(&Question::of_agent("a", "b", None, Map::new())).expect("a question");
    let decided = set.decide(&asked, None, false);
    let annotations = serde_json::to_value(&decided.policies[0].annotations).expect("texts");
    assert_eq!(
        annotations,
        json!({"owner": "payments-team", "severity": ""})
    );
}

#[test]
fn texts_are_bounded() {
    let numbered = |count: usize, scope: &str| -> String {
        let policies: Vec<String> = (0..count)
            .map(|n| format!("@id(\"p{n}\") permit (principal, {scope}, resource);"))
            .collect();
        policies.join("\n")
    };
    let set = PolicySet::read(&numbered(1000, "action == Action::\"a\""), None);
    let set = set.expect("policies");
    assert_eq!((set.len(), set.weight()), (1000, 1000));
    let twice = PolicySet::read(
        &numbered(2, "action in [Action::\"a\", Action::\"b\"]"),
        None,
    );
    assert_eq!(twice.expect("policies").weight(), 4);
    let first = |policies: &str, schema: Option<&str>| faults(policies, schema).remove(0).1;
    assert!(first(&numbered(1001, "action"), None).contains("There may be at most 1000 policies"));
    assert!(PolicySet::read(&numbered(200, "action"), None).is_ok());
    let detail = first(&numbered(201, "action"), None);
    assert!(
        detail.starts_with("201 policies name neither an action nor a principal"),
        "{detail}"
    );

    let named: Vec<String> = (0..2001).map(|n| format!("Action::\"{n}\"")).collect();
    let named: Vec<String> = named.chunks(400).map(|chunk| chunk.join(",")).collect();
    let named: Vec<String> = (0..5)
        .flat_map(|part| named.iter().map(move |actions| (part, actions)))
        .enumerate()
        .map(|(n, (_, actions))| {
            format!("@id(\"p{n}\") permit (principal, action in [{actions}], resource);")
        })
        .collect();
    let detail = first(&named.join("\n"), None);
    assert!(
        detail.starts_with("The scopes name 10005 actions"),
        "{detail}"
    );

    let long = format!(
        "@id(\"a\") permit (principal, action, resource) when {{ \"{}\" == \"\" }};",
        "x".repeat(10_000)
    );
    let detail = first(&format!("{}{long}", starter::POLICIES), None);
    assert!(
        detail.contains("10000 bytes; this one, line 4, column 1"),
        "{detail}"
    );
    let schema = format!("//{}", "x".repeat(100_000));
    assert!(first(starter::POLICIES, Some(&schema)).contains("100000 bytes"));
    let comments = format!("//{}", "x".repeat(384 * 1024));
    assert!(first(&comments, None).contains("393216"));
    assert!(PolicySet::read("", None).expect("no policies").is_empty());
}

/// What nests as deep as it may: evaluated on half of the stack that the server's threads have, Cedar
/// must not run out of it, because then the verdict would depend on where it is asked for.
#[test]
fn what_may_be_nested_fits_the_stack() {
    let chains: [(&str, &str, &str); 11] = [
        ("", "true", " && true"),
        ("", "false", "||false"),
        ("", "0 < 1", "+1"),
        ("", "0 < 1", "-1"),
        ("", "0 < 1", "*1"),
        ("", "context", ".a"),
        ("", "context", "[\"a\"]"),
        ("{a:", "1", "}"),
        ("if true then true else ", "true", ""),
        ("if ", "true", " then true else true"),
        ("(", "context", ".a.a.a)"),
    ];
    for (before, middle, after) in chains {
        let text = |times: usize| {
            let condition = format!(
                "({}{middle}{}) == 1",
                before.repeat(times),
                after.repeat(times)
            );
            format!("@id(\"x\") permit (principal, action, resource) when {{ {condition} }};")
        };
        let deepest = (1..2000)
            .rev()
            .map(text)
            .find_map(|text| PolicySet::read(&text, None).ok());
        let set = deepest.expect("one that may be");
        let asking = move || {
            let context = serde_json::from_value(json!({"a": 1})).expect("an object");
            let question = Question::of_agent("a", "b", None, context);
            set.decide(
                &CedarRequest::new(&question).expect("a question"),
                None,
                false,
            )
        };
        let thread = std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn(asking);
        let decided = thread.expect("a thread").join().expect("an answer");
        let ran_out = decided
            .errors
            .iter()
            .any(|failed| failed.error.contains("recursion"));
        assert!(!ran_out, "{before}{middle}{after}: {decided:?}");
    }
}

#[test]
fn what_nests_without_end_is_refused() {
    let condition = |condition: String| {
        format!("@id(\"x\") permit (principal, action, resource) when {{ {condition} }};")
    };
    let texts = [
        "(".repeat(300_000),
        "if ".repeat(100_000),
        condition(format!("{}1", "[".repeat(4000))),
        condition(format!("{}1", "-1 ".repeat(3000))),
        condition(format!("context{}", ".a".repeat(4000))),
        condition(format!("context{}", ".contains(1)".repeat(700))),
        condition(format!("{}context{}", "(".repeat(30), ".a.a.a)".repeat(30))),
    ];
    for text in texts {
        let detail = faults(&text, None).remove(0).1;
        assert!(detail.contains("more than 64 deep"), "{detail}");
    }
    let schema = format!("type A = {}Long{};", "Set<".repeat(5000), ">".repeat(5000));
    assert!(faults("", Some(&schema))[0].1.contains("more than 64 deep"));
}

#[test]
fn patterns_and_junctions_of_a_policy_are_bounded() {
    let policy = |condition: &str| {
        format!("@id(\"x\") permit (principal, action, resource) when {{ {condition} }};")
    };
    let like = |chars: usize| format!("context.a like \"{}\"", "*".repeat(chars));
    let likes = |count: usize| vec![like(1); count].join(" && ");
    let ors = |count: usize| vec!["true"; count].join(" || ");
    let fitting = [
        policy(&like(256)),
        policy(&likes(10)),
        policy(&likes(10)).repeat(2).replacen("\"x\"", "\"y\"", 1),
        policy(&ors(200)),
    ];
    for text in fitting {
        assert!(PolicySet::read(&text, None).is_ok(), "{text}");
    }
    let refused = [
        (policy(&like(257)), "`like` patterns"),
        (policy(&likes(11)), "`like` patterns"),
        (policy(&ors(201)), "200 of `&&`"),
        (policy(&"true } when { ".repeat(200)), "200 of `&&`"),
    ];
    for (text, told) in refused {
        let detail = faults(&text, None).remove(0).1;
        assert!(detail.contains(told), "{detail}");
    }
    let saved = PolicySet::read_saved(&policy(&likes(11)), None);
    assert!(saved.is_ok(), "it was saved when more was allowed");
}

#[test]
fn a_schema_that_grows_when_it_is_read_is_refused() {
    for count in [20, 200] {
        let types = (0..count).map(|n| format!("type T{n} = {{ a: T{0}, b: T{0} }};\n", n + 1));
        let schema = format!("{}type T{count} = Long;", types.collect::<String>());
        let detail = faults(starter::POLICIES, Some(&schema)).remove(0).1;
        assert!(detail.contains("types are too large"), "{detail}");
    }
}

const SCHEMA: &str = r#"
    entity Agent; entity Account;
    action "pay" appliesTo { principal: Agent, resource: Account, context: { amount: Long } };
"#;

#[test]
fn a_schema_finds_what_is_misspelled() {
    let good = r#"@id("a") permit (principal, action == Action::"pay", resource) when { context.amount < 5 };"#;
    let report = check(good, Some(SCHEMA), &[]);
    assert!(report.is_good() && report.warnings.is_empty(), "{report:?}");

    for bad in [
        good.replace("amount", "amuont"),
        good.replace("\"pay\"", "\"pya\""),
        good.replace("< 5", "< \"5\""),
    ] {
        let report = check(&bad, Some(SCHEMA), &[]);
        assert_eq!(report.errors[0].pointer, "/policies/a", "{bad}");
        assert!(
            report.errors[0].detail.contains("line 1"),
            "{:?}",
            report.errors
        );
        assert!(check(&bad, None, &[]).errors.is_empty());
    }
}

#[test]
fn warnings_say_what_may_not_be_meant() {
    let warnings = |policies: &str| -> Vec<String> {
        let report = check(policies, None, &[]);
        assert_eq!(report.errors, []);
        report
            .warnings
            .into_iter()
            .map(|warning| warning.pointer)
            .collect()
    };
    assert_eq!(warnings(starter::POLICIES), ["/schema"]);
    assert_eq!(warnings(""), ["/policies", "/schema"]);
    let grouped = r#"@id("a") permit (principal in Team::"a", action, resource);"#;
    assert_eq!(warnings(grouped), ["/policies/a", "/schema"]);
}

#[test]
fn a_validation_without_end_is_refused() {
    let types: Vec<String> = (0..300).map(|n| format!("T{n}")).collect();
    let types = types.join(", ");
    let schema = format!(
        "entity {types}; action \"pay\" appliesTo {{ principal: [{types}], resource: [{types}] }};"
    );
    let policies: String = (0..100)
        .map(|n| permit(&format!("@id(\"p{n}\") @note(\"{}\")", "x".repeat(50))))
        .collect();
    let report = check(&policies, Some(&schema), &[]);
    assert_eq!(report.errors[0].pointer, "/schema");
    assert!(report.errors[0].detail.contains("combinations"));
}

fn tests(tests: Value) -> Vec<Test> {
    serde_json::from_value(tests).expect("tests")
}

#[test]
fn tests_stand_beside_policies() {
    let tests = tests(json!([
        {"name": "in short", "question": {"agent_id": "a", "action": "pay", "resource": "Account:1", "context": {"amount": 1}}, "expect": {"decision": "allow", "policies": ["allow-all"]}},
        {"name": "whole", "question": {"principal": {"type": "User", "id": "u"}, "action": "pay", "resource": {"type": "Account", "id": "1"}}, "expect": {"decision": "allow"}},
        {"name": "another verdict", "question": {"agent_id": "a", "action": "pay"}, "expect": {"decision": "deny"}},
        {"name": "another policy", "question": {"agent_id": "a", "action": "pay"}, "expect": {"decision": "allow", "policies": ["other"]}},
    ]));
    let report = check(starter::POLICIES, None, &tests);
    let passed: Vec<bool> = report.tests.iter().map(|test| test.passed).collect();
    assert_eq!(passed, [true, true, false, false]);
    assert!(!report.is_good());
    assert_eq!(report.tests[2].decision, Verdict::Allow);
    let again: Vec<Test> =
        serde_json::from_str(&serde_json::to_string(&tests).expect("JSON")).expect("tests");
    assert_eq!(again, tests);
}

#[test]
fn tests_are_refused_where_they_are_wrong() {
    let test = |name: &str, question: Value| json!({"name": name, "question": question, "expect": {"decision": "allow"}});
    let asked = json!({"agent_id": "a", "action": "b"});
    let report = |given: Value| check(starter::POLICIES, None, &tests(given));
    let report = report(json!([
        test("", asked.clone()),
        test("a", asked.clone()),
        test("a", asked.clone()),
        test("b", json!({"action": "b"})),
        test(
            "c",
            json!({"agent_id": "a", "action": "b", "context": {"x": null}})
        ),
    ]));
    let pointers: Vec<&str> = report.errors.iter().map(|fault| &*fault.pointer).collect();
    let expected = [
        "/tests/0/name",
        "/tests/2/name",
        "/tests/3/question/agent_id",
        "/tests/4/question/context/x",
    ];
    assert_eq!(pointers, expected);
    assert_eq!(report.tests, []);

    let many: Vec<Value> = (0..201)
        .map(|n| test(&n.to_string(), asked.clone()))
        .collect();
    let report = check(starter::POLICIES, None, &tests(Value::Array(many)));
    assert_eq!(
        report.errors[0].detail,
        "There may be at most 200 tests; these are 201."
    );
    let unknown = json!([{"name": "a", "question": {"agent": "a", "action": "b"}, "expect": {"decision": "allow"}}]);
    assert!(serde_json::from_value::<Vec<Test>>(unknown).is_err());
}

#[test]
fn versions_are_compared_policy_by_policy() {
    let before = Texts {
        policies: &[
            permit("@id(\"a\")"),
            permit("@id(\"b\")"),
            permit("@id(\"c\")"),
        ]
        .join("\n"),
        schema: None,
    };
    let after = Texts {
        policies: &[
            "// moved\n",
            &permit("@id(\"c\")"),
            &permit("@id(\"b\") @reason(\"r\")"),
            &permit("@id(\"d\")"),
        ]
        .join("\n"),
        schema: Some(SCHEMA),
    };
    let told = serde_json::to_value(diff(before, after).expect("texts")).expect("JSON");
    let expected = json!({
        "added": [{"id": "d", "text": permit("@id(\"d\")")}],
        "removed": [{"id": "a", "text": permit("@id(\"a\")")}],
        "changed": [{"id": "b", "before": permit("@id(\"b\")"), "after": permit("@id(\"b\") @reason(\"r\")")}],
        "unchanged": 1,
        "schema_changed": true,
    });
    assert_eq!(told, expected);
    assert_eq!(diff(before, before).expect("texts").unchanged, 3);
}

#[test]
fn flips_are_counted_by_transition_and_shown_by_samples() {
    let mut flips = Flips::default();
    for number in 0..10 {
        flips.add(Verdict::Allow, Verdict::Deny, || json!({"n": number}));
        flips.add(Verdict::Deny, Verdict::Deny, || json!({}));
    }
    flips.add(Verdict::Deny, Verdict::Escalate, || json!({"n": 10}));
    flips.count(Verdict::Allow, Verdict::Modify, 3);
    let told = serde_json::to_value(&flips).expect("JSON");
    assert_eq!(
        (&told["evaluated"], &told["changed"]),
        (&json!(24), &json!(14))
    );
    let expected = json!({"allow->deny": 10, "allow->modify": 3, "deny->escalate": 1});
    assert_eq!(told["by_transition"], expected);
    assert_eq!(flips.samples.len(), 6);
    assert_eq!(
        told["samples"][0],
        json!({"before": "allow", "after": "deny", "n": 0})
    );
}

#[test]
fn a_digest_names_both_texts() {
    let digests = [
        digest("a", None),
        digest("a", Some("")),
        digest("", Some("a")),
        digest("a1:b", None),
        digest("a", Some("b")),
    ];
    let different: std::collections::HashSet<_> = digests.iter().collect();
    assert_eq!(different.len(), digests.len());
    let set = PolicySet::read(starter::POLICIES, None).expect("the starter");
    assert_eq!(set.digest(), digest(starter::POLICIES, None));
}

#[test]
fn the_engine_says_which_it_is() {
    assert!(
        policy::ENGINE.starts_with("cedar 4."),
        "{}",
        *policy::ENGINE
    );
}
