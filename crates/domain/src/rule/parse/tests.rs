//! Definitions by cases: what is read, and what is refused and where.

use serde_json::json;

use super::*;

fn rule(more: &Value) -> Value {
    let mut rule = json!({"name": "r", "match": {}, "url": "https://example.com"});
    let fields = more.as_object().expect("fields").clone();
    rule.as_object_mut().expect("a rule").extend(fields);
    rule
}

#[test]
fn all_that_can_be_written_reads_back_as_written() {
    let source = rule(&json!({
        "description": "d", "enabled": false, "match": {"result": ["denied"]},
        "except": [{"agent_id": ["ci"]}], "severity": "high",
        "runbook_url": "https://example.com/runbook", "tags": ["payments"], "shadow": true,
        "snoozed_until": "2026-11-15T09:30:00.125Z",
        "threshold": {"count": 5, "window_s": 600, "group_by": ["agent_id", "metadata.a.b"]},
        "suppress": {"for_s": 3600, "group_by": []},
        "tests": [
            {"event": {"result": "denied", "agent_id": "a"}, "matches": true},
            {"event": {"result": "denied", "agent_id": "ci"}, "matches": false},
            {"event": {"result": "success"}, "matches": false},
        ],
    }));
    let definition = Definition::parse(source.clone()).expect("valid");
    let written = serde_json::to_value(&definition).expect("JSON");
    assert_eq!(written, source);
    let stored: Definition = serde_json::from_value(written).expect("readable");
    assert_eq!(stored, definition);
}

#[test]
fn a_rule_that_costs_too_much_or_is_too_long_says_so_and_no_more() {
    let refused = |more: &Value| {
        let faults = Definition::parse(rule(more)).expect_err("too much");
        assert_eq!(faults.len(), 1, "{faults:?}");
        (faults[0].pointer.clone(), faults[0].detail.clone())
    };
    let texts: Vec<Value> = (0..17)
        .map(|number| json!({"contains": number.to_string()}))
        .collect();
    let pattern = json!({"metadata": {"f": texts}});
    let (pointer, detail) = refused(&json!({"match": pattern}));
    assert_eq!(pointer, "/match");
    assert!(detail.contains("cost 2176"), "{detail}");
    let half = json!({"metadata": {"f": texts[..9]}});
    assert_eq!(
        refused(&json!({"match": half, "except": [half]})).0,
        "/except"
    );
    assert!(Definition::parse(rule(&json!({"match": half}))).is_ok());
    let keys: serde_json::Map<String, Value> = (0..100_000)
        .map(|number| (format!("k{number}"), Value::Null))
        .collect();
    assert_eq!(refused(&Value::Object(keys)).0, "");
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let source = json!({"nam": "r", "match": [], "enabled": 1, "threshold": {"count": 1}, // misspelled on purpose
        "except": [{}, {"color": [1]}], "tests": [{"event": {"color": 1}, "match": true}],
        "version": 3, "suppress": [], "tags": ["", 7]});
    let faults = Definition::parse(source).expect_err("not valid");
    let mut found: Vec<_> = faults
        .iter()
        .map(|fault| (fault.pointer.as_str(), fault.code))
        .collect();
    found.sort_by_key(|(pointer, _)| *pointer);
    assert_eq!(
        found,
        [
            ("/enabled", FaultCode::FieldInvalid),
            ("/except/1/color", FaultCode::FieldUnknown),
            ("/match", FaultCode::FieldInvalid),
            ("/nam", FaultCode::FieldUnknown), // misspelled on purpose
            ("/name", FaultCode::FieldRequired),
            ("/suppress", FaultCode::FieldInvalid),
            ("/tags/0", FaultCode::FieldInvalid),
            ("/tags/1", FaultCode::FieldInvalid),
            ("/tests/0/event/color", FaultCode::FieldUnknown),
            ("/tests/0/match", FaultCode::FieldUnknown),
            ("/tests/0/matches", FaultCode::FieldRequired),
            ("/threshold/count", FaultCode::FieldInvalid),
            ("/threshold/window_s", FaultCode::FieldRequired),
            ("/url", FaultCode::FieldRequired),
            ("/version", FaultCode::FieldUnknown),
        ]
    );
    let detail = |pointer: &str| {
        let fault = faults.iter().find(|fault| fault.pointer == pointer);
        fault.expect("a fault").detail.as_str()
    };
    assert!(detail("/nam").contains("did you mean `name`?")); // misspelled on purpose
    assert!(detail("/version").contains("set by the server"));
    assert!(detail("/threshold/count").contains("leave `threshold` out"));
}

#[test]
fn what_is_at_a_bound_is_taken_and_what_is_beyond_is_refused_where_it_stands() {
    let event = |bytes: usize| json!({"resource": "x".repeat(bytes - r#"{"resource":""}"#.len())});
    let cases = [
        (
            json!({"threshold": {"count": 10_000, "window_s": 86_400}}),
            "",
        ),
        (
            json!({"threshold": {"count": 10_001, "window_s": 1}}),
            "/threshold/count",
        ),
        (
            json!({"threshold": {"count": 2.5, "window_s": 1}}),
            "/threshold/count",
        ),
        (
            json!({"threshold": {"count": 2, "window_s": 86_401}}),
            "/threshold/window_s",
        ),
        (
            json!({"threshold": {"count": 2, "window_s": 0}}),
            "/threshold/window_s",
        ),
        (json!({"suppress": {"for_s": 86_400}}), ""),
        (json!({"suppress": {"for_s": 86_401}}), "/suppress/for_s"),
        (
            json!({"suppress": {"for_s": 1, "group_by": ["a", "b", "c"]}}),
            "/suppress/group_by",
        ),
        (
            json!({"suppress": {"for_s": 1, "group_by": ["agent"]}}),
            "/suppress/group_by/0",
        ),
        (
            json!({"suppress": {"for_s": 1, "group_by": ["metadata"]}}),
            "/suppress/group_by/0",
        ),
        (
            json!({"suppress": {"for_s": 1, "group_by": ["metadata.a..b"]}}),
            "/suppress/group_by/0",
        ),
        (
            json!({"suppress": {"for_s": 1, "group_by": ["metadata.a.b.c.d.e"]}}),
            "",
        ),
        (
            json!({"suppress": {"for_s": 1, "group_by": ["metadata.a.b.c.d.e.f"]}}),
            "/suppress/group_by/0",
        ),
        (
            json!({"suppress": {"for_s": 1, "group_by": ["agent_id.x"]}}),
            "/suppress/group_by/0",
        ),
        (json!({"tags": vec!["t"; 16]}), ""),
        (json!({"tags": vec!["t"; 17]}), "/tags"),
        (json!({"tags": ["é".repeat(64)]}), ""),
        (json!({"tags": ["é".repeat(65)]}), "/tags/0"),
        (json!({"except": vec![json!({}); 9]}), "/except"),
        (json!({"severity": "urgent"}), "/severity"),
        (
            json!({"runbook_url": "javascript:alert(1)"}),
            "/runbook_url",
        ),
        (
            json!({"runbook_url": format!("https://{}", "x".repeat(2_040))}),
            "",
        ),
        (
            json!({"runbook_url": format!("https://{}", "x".repeat(2_041))}),
            "/runbook_url",
        ),
        (json!({"snoozed_until": "tomorrow"}), "/snoozed_until"),
        (
            json!({"tests": [{"event": event(4_096), "matches": true}]}),
            "",
        ),
        (
            json!({"tests": [{"event": event(4_097), "matches": true}]}),
            "/tests/0/event",
        ),
        (
            json!({"tests": vec![json!({"event": {}, "matches": true}); 21]}),
            "/tests",
        ),
        (
            json!({"tests": [{"event": {}, "matches": true}, {"event": {}, "matches": false}]}),
            "/tests/1",
        ),
    ];
    for (fields, pointer) in cases {
        match Definition::parse(rule(&fields)) {
            Ok(_) => assert_eq!(pointer, "", "{fields}"),
            Err(faults) => {
                let found: Vec<_> = faults.iter().map(|fault| &fault.pointer).collect();
                assert_eq!(found, [pointer], "{fields}");
            }
        }
    }
    let together = json!({"tests": vec![json!({"event": event(4_000), "matches": true}); 17]});
    let faults = Definition::parse(rule(&together)).expect_err("more than 64 KiB");
    assert_eq!(faults[0].code, FaultCode::FieldTooLong);
}

#[test]
fn a_test_that_fails_says_what_was_seen() {
    let cases = [
        (json!({"result": "success"}), "`result` is \"success\"."),
        (json!({"action": "a.b"}), "it has no `result`."),
        (
            json!({"result": "denied", "agent_id": "ci"}),
            "`except/0` matches it.",
        ),
    ];
    for (event, seen) in cases {
        let source = rule(&json!({"match": {"result": ["denied", "error"]},
            "except": [{"agent_id": ["ci"]}], "tests": [{"event": event, "matches": true}]}));
        let faults = Definition::parse(source).expect_err("it does not match");
        assert_eq!(faults[0].pointer, "/tests/0");
        assert!(faults[0].detail.ends_with(seen), "{}", faults[0].detail);
    }
}
