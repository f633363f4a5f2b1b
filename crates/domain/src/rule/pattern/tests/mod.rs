//! The language by cases: what each operator matches.

mod refused;

use serde_json::{Value, json};

use super::Pattern;
use crate::{
    event::EventView,
    rule::set::{RuleSet, Whole, random::rule},
};

fn matches(source: &Value, event: &Value) -> bool {
    let json = event.to_string();
    let view = EventView::parse(&json).expect("an event");
    let rule = rule(1, source.clone(), Vec::new());
    let found = !RuleSet::new([rule.clone()]).matching(&view).is_empty();
    assert_eq!(
        found,
        rule.definition.matches(&view),
        "the index and the truth: {source}"
    );
    assert_eq!(
        found,
        Whole::of(&view).is_wanted_by(&rule.definition.pattern)
    );
    found
}

#[test]
fn the_language_by_cases() {
    let event = json!({
        "event_type": "tool_call", "result": "denied", "latency_ms": 5.0,
        "action": "payments.card.refund",
        "metadata": {
            "tags": ["a", "b", 7], "amount": 500, "deep": {"on": true, "a.b": "dots"}, "none": null,
            "empty": [], "zero": -0.0, "large": 9_007_199_254_740_993_i64,
            "ip": "10.1.2.3", "ip6": "2001:db8::1", "mapped": "::ffff:10.1.2.3", "ips": ["x", "10.9.9.9"],
            "name": "ÄRGER Straße", "objects": [{"n": 1}], "blank": "",
        },
    });
    let inside = |field: &str, listed: Value| json!({"metadata": {field: listed}});
    let cases = [
        (json!({}), true),
        // Exact values.
        (json!({"event_type": ["tool_call"]}), true),
        (json!({"event_type": ["Tool_call"]}), false),
        (json!({"event_type": ["login", "tool_call"]}), true),
        (
            json!({"event_type": ["tool_call"], "result": ["success"]}),
            false,
        ),
        (
            json!({"event_type": ["tool_call"], "result": ["denied"]}),
            true,
        ),
        (json!({"latency_ms": [5]}), true),
        (inside("amount", json!([500.0])), true),
        (inside("amount", json!(["500"])), false),
        (inside("zero", json!([0])), true),
        (inside("large", json!([9_007_199_254_740_992_i64])), true),
        (inside("tags", json!(["b"])), true),
        (inside("tags", json!(["b", "a"])), true),
        (inside("tags", json!([7])), true),
        (inside("deep", json!({"on": [true]})), true),
        (inside("deep", json!({"a.b": ["dots"]})), true),
        (inside("objects", json!({"n": [1]})), false),
        (inside("none", json!([null])), true),
        (inside("absent", json!([null])), false),
        (json!({"agent_id": ["a"]}), false),
        (inside("blank", json!([""])), true),
        // Parts of texts.
        (json!({"action": [{"prefix": "payments."}]}), true),
        (json!({"action": [{"prefix": "Payments."}]}), false),
        (
            json!({"action": [{"prefix": "payments.card.refunds"}]}),
            false,
        ),
        (json!({"action": [{"suffix": ".refund"}]}), true),
        (json!({"action": [{"suffix": "refund."}]}), false),
        (json!({"action": [{"contains": "card"}]}), true),
        (json!({"action": [{"contains": "cord"}]}), false),
        (json!({"latency_ms": [{"prefix": "5"}]}), false),
        (inside("tags", json!([{"prefix": "b"}])), true),
        (
            json!({"action": [{"prefix": "files."}, {"suffix": ".refund"}]}),
            true,
        ),
        // Wildcards.
        (json!({"action": [{"wildcard": "payments.*.refund"}]}), true),
        (json!({"action": [{"wildcard": "*"}]}), true),
        (json!({"action": [{"wildcard": "payments.*"}]}), true),
        (json!({"action": [{"wildcard": "*refund"}]}), true),
        (json!({"action": [{"wildcard": "*card*"}]}), true),
        (json!({"action": [{"wildcard": "pay*c*d*fund"}]}), true),
        (
            json!({"action": [{"wildcard": "payments.card.refund"}]}),
            true,
        ),
        (json!({"action": [{"wildcard": "payments"}]}), false),
        (
            json!({"action": [{"wildcard": "payments.card.refund*refund"}]}),
            false,
        ),
        (json!({"action": [{"wildcard": "*card*payments*"}]}), false),
        (inside("blank", json!([{"wildcard": "*"}])), true),
        (inside("amount", json!([{"wildcard": "*"}])), false),
        // Upper and lower case.
        (json!({"result": [{"equals-ignore-case": "DENIED"}]}), true),
        (
            inside("name", json!([{"equals-ignore-case": "ärger straße"}])),
            true,
        ),
        (
            inside("name", json!([{"equals-ignore-case": "ärger strase"}])),
            false,
        ),
        // Anything but.
        (json!({"result": [{"anything-but": ["success"]}]}), true),
        (
            json!({"result": [{"anything-but": ["success", "denied"]}]}),
            false,
        ),
        (json!({"result": [{"anything-but": "denied"}]}), false),
        (json!({"agent_id": [{"anything-but": ["x"]}]}), false),
        (inside("none", json!([{"anything-but": "x"}])), true),
        (inside("none", json!([{"anything-but": null}])), false),
        (inside("tags", json!([{"anything-but": ["a", "b"]}])), true),
        (
            inside("tags", json!([{"anything-but": ["a", "b", 7]}])),
            false,
        ),
        (inside("empty", json!([{"anything-but": ["a"]}])), false),
        (inside("deep", json!([{"anything-but": ["a"]}])), false),
        (
            json!({"action": [{"anything-but": {"prefix": "files."}}]}),
            true,
        ),
        (
            json!({"action": [{"anything-but": {"prefix": "payments."}}]}),
            false,
        ),
        (
            json!({"action": [{"anything-but": {"suffix": ".refund"}}]}),
            false,
        ),
        (
            inside("amount", json!([{"anything-but": {"prefix": "5"}}])),
            true,
        ),
        // Numbers.
        (inside("amount", json!([{"numeric": [">=", 500]}])), true),
        (inside("amount", json!([{"numeric": [">", 500]}])), false),
        (inside("amount", json!([{"numeric": ["<=", 500]}])), true),
        (inside("amount", json!([{"numeric": ["<", 500]}])), false),
        (inside("amount", json!([{"numeric": ["=", 500]}])), true),
        (
            inside("amount", json!([{"numeric": [">", 499.5, "<", 1000]}])),
            true,
        ),
        (
            inside("amount", json!([{"numeric": ["<", 1000, ">", 500]}])),
            false,
        ),
        (
            inside("amount", json!([{"numeric": [">=", 500, "<=", 500]}])),
            true,
        ),
        (inside("zero", json!([{"numeric": ["=", 0]}])), true),
        (inside("tags", json!([{"numeric": [">", 6]}])), true),
        (json!({"result": [{"numeric": [">", 0]}]}), false),
        // Presence.
        (inside("none", json!([{"exists": true}])), true),
        (inside("empty", json!([{"exists": true}])), true),
        (inside("deep", json!([{"exists": true}])), true),
        (inside("absent", json!([{"exists": true}])), false),
        (inside("absent", json!([{"exists": false}])), true),
        (inside("amount", json!([{"exists": false}])), false),
        (inside("absent", json!({"more": [{"exists": false}]})), true),
        (json!({"agent_id": [{"exists": false}, "x"]}), true),
        (json!({"metadata": [{"exists": true}]}), true),
        // Networks.
        (inside("ip", json!([{"cidr": "10.0.0.0/8"}])), true),
        (inside("ip", json!([{"cidr": "10.1.2.3/32"}])), true),
        (inside("ip", json!([{"cidr": "10.1.2.2/32"}])), false),
        (inside("ip", json!([{"cidr": "0.0.0.0/0"}])), true),
        (inside("ip", json!([{"cidr": "::/0"}])), false),
        (inside("ip6", json!([{"cidr": "2001:db8::/32"}])), true),
        (inside("ip6", json!([{"cidr": "2001:db9::/32"}])), false),
        (inside("ip6", json!([{"cidr": "0.0.0.0/0"}])), false),
        (inside("mapped", json!([{"cidr": "10.0.0.0/8"}])), true),
        (inside("ips", json!([{"cidr": "10.0.0.0/8"}])), true),
        (inside("name", json!([{"cidr": "0.0.0.0/0"}])), false),
        // One of several patterns.
        (
            json!({"$or": [{"result": ["x"]}, {"latency_ms": [5]}]}),
            true,
        ),
        (
            json!({"$or": [{"result": ["x"]}, {"latency_ms": [6]}]}),
            false,
        ),
        (
            json!({"event_type": ["x"], "$or": [{"result": ["denied"]}]}),
            false,
        ),
        (
            json!({"event_type": ["tool_call"], "$or": [{"result": ["x"]}, {"result": ["denied"], "metadata": {"amount": [500]}}]}),
            true,
        ),
        (json!({"$or": [{"agent_id": [{"exists": false}]}]}), true),
    ];
    for (source, expected) in cases {
        assert_eq!(matches(&source, &event), expected, "{source}");
    }
}

#[test]
fn a_wildcard_looks_at_so_much_of_a_value() {
    let event =
        |length: usize| json!({"metadata": {"v": format!("{}end", "x".repeat(length - 3))}});
    let ends = json!({"metadata": {"v": [{"wildcard": "x*end"}]}});
    assert!(matches(&ends, &event(4_096)));
    assert!(!matches(&ends, &event(4_097)));
    assert!(matches(
        &json!({"metadata": {"v": [{"suffix": "end"}]}}),
        &event(4_097)
    ));
    assert!(matches(
        &json!({"metadata": {"v": [{"contains": "end"}]}}),
        &event(4_097)
    ));
}

#[test]
fn a_pattern_reads_back_as_written() {
    let source = json!({"event_type": ["tool_call"], "$or": [{"result": [{"exists": true}]}],
        "metadata": {"a": {"b": [1, null, true, {"numeric": [">=", 5.5]}]}}});
    let pattern = Pattern::parse(source.clone()).expect("valid");
    assert_eq!(pattern.conditions().tests().count(), 3);
    assert_eq!(Value::from(pattern), source);
}
