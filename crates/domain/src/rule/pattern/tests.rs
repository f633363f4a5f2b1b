//! The language by cases: what each operator matches, and what is refused where and why.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Pattern;
use crate::{
    event::EventView,
    rule::set::{RuleSet, Whole, random::rule, wants},
};

fn matches(source: &Value, event: &Value) -> bool {
    let json = event.to_string();
    let view = EventView::parse(&json).expect("an event");
    let rule = rule(1, source.clone(), Vec::new());
    let found = !RuleSet::new([rule.clone()]).matching(&view).is_empty();
    assert_eq!(
        found,
        wants(&rule, &view),
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

#[test]
fn what_is_wrong_is_said_where_it_stands_with_the_fix() {
    let long = "x".repeat(257);
    let cases = [
        (json!([]), "", "write {\"event_type\""),
        (
            json!({"event_typ": ["x"]}),
            "/event_typ",
            "did you mean `event_type`?",
        ),
        (
            json!({"agent": ["x"]}),
            "/agent",
            "did you mean `agent_id`?",
        ),
        (
            json!({"colour": ["x"]}),
            "/colour",
            "put it under `metadata`",
        ),
        (
            json!({"metadata.region": ["x"]}),
            "/metadata.region",
            "{\"metadata\": {\"region\": [\"x\"]}}",
        ),
        (json!({"a/b~": ["x"]}), "/a~1b~0", "put it under `metadata`"),
        (json!({"$and": []}), "/$and", "`$or`"),
        (json!({"result": "denied"}), "/result", "write [\"denied\"]"),
        (json!({"metadata": {"n": 5}}), "/metadata/n", "write [5]"),
        (
            json!({"metadata": {"n": {"exists": true}}}),
            "/metadata/n/exists",
            "write [{\"exists\": true}]",
        ),
        (json!({"metadata": {}}), "/metadata", "Name a field"),
        (
            json!({"metadata": {"a": {}}}),
            "/metadata/a",
            "Name a field",
        ),
        (json!({"result": []}), "/result", "between 1 and 64"),
        (
            json!({"result": vec!["x"; 65]}),
            "/result",
            "between 1 and 64",
        ),
        (json!({"result": [["x"]]}), "/result/0", "inner brackets"),
        (
            json!({"result": {"is": ["x"]}}),
            "/result",
            "Only `metadata`",
        ),
        (
            json!({"action": {"prefix": "a"}}),
            "/action",
            "write [{\"prefix\":\"a\"}]",
        ),
        (
            json!({"result": ["ok", long]}),
            "/result/1",
            "at most 256 bytes; this one has 257",
        ),
        (
            json!({"metadata": {"a": {"b": {"c": {"d": {"e": {"f": [1]}}}}}}}),
            "/metadata/a/b/c/d/e/f",
            "6 levels",
        ),
        (
            json!({"metadata": {"$or": [1]}}),
            "/metadata/$or",
            "at the top only",
        ),
        (json!({"result": [{}]}), "/result/0", "Name an operator"),
        (
            json!({"result": [{"prefix": "a", "suffix": "b"}]}),
            "/result/0",
            "One operator",
        ),
        (
            json!({"result": [{"prefx": "a"}]}),
            "/result/0/prefx",
            "did you mean `prefix`?",
        ),
        (
            json!({"result": [{"starts_with": "a"}]}),
            "/result/0/starts_with",
            "write {\"prefix\"",
        ),
        (
            json!({"result": [{"Regex": "a"}]}),
            "/result/0/Regex",
            "wildcard",
        ),
        (
            json!({"result": [{"sounds": "a"}]}),
            "/result/0/sounds",
            "Operators: prefix",
        ),
        (
            json!({"result": [{"prefix": 5}]}),
            "/result/0/prefix",
            "quotes",
        ),
        (
            json!({"result": [{"prefix": ""}]}),
            "/result/0/prefix",
            "exists",
        ),
        (
            json!({"result": [{"suffix": ["a", "b"]}]}),
            "/result/0/suffix",
            "{\"suffix\": \"b\"}",
        ),
        (
            json!({"action": ["a", {"wildcard": "*a*b*c*d*"}]}),
            "/action/1/wildcard",
            "character 9",
        ),
        (
            json!({"action": [{"wildcard": "é**"}]}),
            "/action/0/wildcard",
            "character 3",
        ),
        (
            json!({"result": [{"anything-but": []}]}),
            "/result/0/anything-but",
            "between 1 and 64",
        ),
        (
            json!({"result": [{"anything-but": [["a"]]}]}),
            "/result/0/anything-but/0",
            "plain value",
        ),
        (
            json!({"result": [{"anything-but": {"wildcard": "a"}}]}),
            "/result/0/anything-but/wildcard",
            "`prefix`",
        ),
        (
            json!({"result": [{"anything-but": {"prefix": 1}}]}),
            "/result/0/anything-but/prefix",
            "quotes",
        ),
        (
            json!({"result": [{"anything-but": {}}]}),
            "/result/0/anything-but",
            "one operator",
        ),
        (
            json!({"result": [{"exists": "true"}]}),
            "/result/0/exists",
            "without quotes",
        ),
        (
            json!({"latency_ms": [{"numeric": ">= 5"}]}),
            "/latency_ms/0/numeric",
            "[\">=\", 500]",
        ),
        (
            json!({"latency_ms": [{"numeric": [">="]}]}),
            "/latency_ms/0/numeric",
            "[\">=\", 500]",
        ),
        (
            json!({"latency_ms": [{"numeric": [">=", "500"]}]}),
            "/latency_ms/0/numeric/1",
            "write 500",
        ),
        (
            json!({"latency_ms": [{"numeric": [">=", "x"]}]}),
            "/latency_ms/0/numeric/1",
            "A number",
        ),
        (
            json!({"latency_ms": [{"numeric": ["=>", 5]}]}),
            "/latency_ms/0/numeric/0",
            "\">=\"",
        ),
        (
            json!({"latency_ms": [{"numeric": ["==", 5]}]}),
            "/latency_ms/0/numeric/0",
            "\"=\"",
        ),
        (
            json!({"latency_ms": [{"numeric": ["!=", 5]}]}),
            "/latency_ms/0/numeric/0",
            "anything-but",
        ),
        (
            json!({"latency_ms": [{"numeric": [5, ">"]}]}),
            "/latency_ms/0/numeric/0",
            "A sign",
        ),
        (
            json!({"latency_ms": [{"numeric": [">", 5, ">=", 6]}]}),
            "/latency_ms/0/numeric/2",
            "one lower",
        ),
        (
            json!({"latency_ms": [{"numeric": [">", 5, "<", 5]}]}),
            "/latency_ms/0/numeric",
            "No number",
        ),
        (
            json!({"latency_ms": [{"numeric": [">", 9, "<", 5]}]}),
            "/latency_ms/0/numeric",
            "No number",
        ),
        (
            json!({"metadata": {"ip": [{"cidr": "10.0.0.1"}]}}),
            "/metadata/ip/0/cidr",
            "10.0.0.1/32",
        ),
        (
            json!({"metadata": {"ip": [{"cidr": "10.1.2.3/8"}]}}),
            "/metadata/ip/0/cidr",
            "10.0.0.0/8",
        ),
        (
            json!({"metadata": {"ip": [{"cidr": "10.0.0.0/33"}]}}),
            "/metadata/ip/0/cidr",
            "character 10",
        ),
        (
            json!({"metadata": {"ip": [{"cidr": "10.0.0/8"}]}}),
            "/metadata/ip/0/cidr",
            "IPv4 or IPv6",
        ),
        (
            json!({"metadata": {"ip": [{"cidr": "::ffff:10.0.0.0/104"}]}}),
            "/metadata/ip/0/cidr",
            "as IPv4",
        ),
        (
            json!({"metadata": {"ip": [{"cidr": "office"}]}}),
            "/metadata/ip/0/cidr",
            "10.0.0.0/8",
        ),
        (json!({"$or": {"result": ["a"]}}), "/$or", "lists patterns"),
        (json!({"$or": []}), "/$or", "between 1 and 16"),
        (json!({"$or": ["a"]}), "/$or/0", "A pattern"),
        (json!({"$or": [{}]}), "/$or/0", "every event"),
        (
            json!({"$or": [{"result": ["a"]}, {"$or": []}]}),
            "/$or/1/$or",
            "at the top only",
        ),
        (
            json!({"$or": [{"resul": ["a"]}]}),
            "/$or/0/resul",
            "did you mean `result`?",
        ),
    ];
    for (source, pointer, fix) in cases {
        let fault = Pattern::parse(source.clone()).expect_err(&source.to_string());
        assert_eq!(
            fault.pointer,
            format!("/match{pointer}"),
            "{source}: {fault}"
        );
        assert!(fault.detail.contains(fix), "{source}: {fault}");
    }
    let fault = Pattern::parse_at(json!({"result": 5}), "/except/2").expect_err("no list");
    assert_eq!(fault.pointer, "/except/2/result");
}

#[test]
fn hostile_patterns_are_refused_quickly() {
    // Unoptimised and on a busy machine; optimised, below a millisecond each.
    const TIME_MAX: Duration = Duration::from_secs(5);
    let many: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
    let fields: serde_json::Map<String, Value> = (0..17)
        .map(|number| (number.to_string(), json!([1])))
        .collect();
    let deep = (0..100).fold(json!([1]), |inside, _| json!({"a": inside}));
    let cases = [
        (
            json!({"action": [{"wildcard": "*a".repeat(128)}]}),
            "at most 4 `*`",
        ),
        (
            json!({"action": [{"wildcard": "*".repeat(200)}]}),
            "follows another",
        ),
        (
            json!({"action": [{"contains": "x".repeat(1 << 20)}]}),
            "at most 4096 bytes",
        ),
        (
            json!({"action": ["x".repeat(1 << 20)]}),
            "at most 4096 bytes",
        ),
        (json!({"x".repeat(1 << 20): ["x"]}), "at most 4096 bytes"),
        (json!({"action": many}), "at most 4096 bytes"),
        (json!({"action": vec![1; 1_000]}), "between 1 and 64"),
        (
            json!({"action": [{"anything-but": vec![1; 1_000]}]}),
            "between 1 and 64",
        ),
        (json!({"metadata": fields}), "at most 16 fields"),
        (json!({"metadata": deep}), "6 levels"),
        (
            json!({"metadata": {"x".repeat(257): [1]}}),
            "A key is at most 256",
        ),
        (
            json!({"$or": vec![json!({"result": [1]}); 200]}),
            "between 1 and 16",
        ),
        (
            json!({"$or": vec![json!({"result": [1], "action": [1]}); 9]}),
            "at most 16 fields",
        ),
        (json!({"x".repeat(2_000): [1]}), "..."),
        (json!({"result": [{"x".repeat(2_000): 1}]}), "..."),
    ];
    for (source, reason) in cases {
        let shown = source.to_string().chars().take(80).collect::<String>();
        let started = Instant::now();
        let fault = Pattern::parse(source).expect_err(&shown);
        let took = started.elapsed();
        assert!(took < TIME_MAX, "{shown}: {took:?}");
        assert!(fault.detail.contains(reason), "{shown}: {fault}");
        assert!(fault.detail.len() < 600, "{shown}: {}", fault.detail.len());
    }
}
