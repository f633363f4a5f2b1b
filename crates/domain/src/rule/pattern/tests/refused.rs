//! What is refused, where and why, and how quickly.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rule::Pattern;

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
        (json!({"color": ["x"]}), "/color", "put it under `metadata`"),
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
            "only at the top level",
        ),
        (json!({"result": [{}]}), "/result/0", "Name an operator"),
        (
            json!({"result": [{"prefix": "a", "suffix": "b"}]}),
            "/result/0",
            "one operator per object",
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
            "without quotes: 500",
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
            "A comparison sign",
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
            "only at the top level",
        ),
        (
            json!({"$or": [{"results": ["a"]}]}),
            "/$or/0/results",
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
    // Unoptimized and on a busy machine.
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
            "A key can be at most 256",
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
