//! The published schema of `match` and the parser say the same.

use domain::{event::EventView, rule::Pattern};
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("../../../docs/reference/alert-rule-match.schema.json");

fn schema_accepts(source: &Value) -> bool {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    jsonschema::validator_for(&schema)
        .expect("a schema")
        .is_valid(source)
}

#[test]
fn the_schema_and_the_parser_agree() {
    let text = |length: usize| "x".repeat(length);
    let field = |listed: Value| json!({"action": [listed]});
    let cases = [
        (json!({}), true),
        (json!([]), false),
        (json!({"result": ["denied", 5, 5.5, true, null]}), true),
        (json!({"result": "denied"}), false),
        (json!({"result": []}), false),
        (json!({"result": vec![1; 64]}), true),
        (json!({"result": vec![1; 65]}), false),
        (json!({"result": [["x"]]}), false),
        (json!({"colour": ["red"]}), false),
        (json!({"result": {"a": ["x"]}}), false),
        (
            json!({"metadata": {"colour": ["red"], "deep": {"n": [1]}}}),
            true,
        ),
        (json!({"metadata": {}}), false),
        (json!({"metadata": {"a": {}}}), false),
        (json!({"metadata": {"a": 5}}), false),
        (json!({"metadata": {"$or": [1]}}), false),
        (json!({"metadata": {text(257): [1]}}), false),
        (json!({"metadata": [{"exists": true}]}), true),
        (field(json!(text(256))), true),
        (field(json!(text(257))), false),
        (field(json!({})), false),
        (field(json!({"prefix": "a", "suffix": "b"})), false),
        (field(json!({"sounds": "a"})), false),
        (field(json!({"prefix": "a"})), true),
        (field(json!({"prefix": ""})), false),
        (field(json!({"prefix": 5})), false),
        (field(json!({"suffix": text(257)})), false),
        (field(json!({"contains": "a"})), true),
        (field(json!({"contains": ["a"]})), false),
        (field(json!({"equals-ignore-case": "A"})), true),
        (field(json!({"wildcard": "a"})), true),
        (field(json!({"wildcard": "*"})), true),
        (field(json!({"wildcard": "*a*b*c*"})), true),
        (field(json!({"wildcard": "a*b*c*d*e"})), true),
        (field(json!({"wildcard": "*a*b*c*d*"})), false),
        (field(json!({"wildcard": "a**"})), false),
        (field(json!({"anything-but": "a"})), true),
        (field(json!({"anything-but": ["a", 5, null]})), true),
        (field(json!({"anything-but": []})), false),
        (field(json!({"anything-but": [["a"]]})), false),
        (field(json!({"anything-but": {"prefix": "a"}})), true),
        (field(json!({"anything-but": {"suffix": "a"}})), true),
        (field(json!({"anything-but": {"wildcard": "a"}})), false),
        (field(json!({"anything-but": {}})), false),
        (field(json!({"numeric": ["=", 5]})), true),
        (field(json!({"numeric": [">=", 5, "<", 6.5]})), true),
        (field(json!({"numeric": ["<", 6, ">", 5]})), true),
        (field(json!({"numeric": [">", 5, ">=", 6]})), false),
        (field(json!({"numeric": ["=", 5, "<", 6]})), false),
        (field(json!({"numeric": ["==", 5]})), false),
        (field(json!({"numeric": [">=", "5"]})), false),
        (field(json!({"numeric": [">="]})), false),
        (field(json!({"numeric": 5})), false),
        (field(json!({"exists": false})), true),
        (field(json!({"exists": "true"})), false),
        (field(json!({"cidr": "10.0.0.0/8"})), true),
        (field(json!({"cidr": "2001:db8::/32"})), true),
        (field(json!({"cidr": "10.0.0.1"})), false),
        (field(json!({"cidr": "office/8"})), false),
        (
            json!({"$or": [{"result": ["a"]}, {"metadata": {"n": [1]}}], "action": ["b"]}),
            true,
        ),
        (json!({"$or": []}), false),
        (json!({"$or": [{}]}), false),
        (json!({"$or": [{"$or": [{"result": ["a"]}]}]}), false),
        (json!({"$or": {"result": ["a"]}}), false),
        (json!({"$or": vec![json!({"result": ["a"]}); 16]}), true),
        (json!({"$or": vec![json!({"result": ["a"]}); 17]}), false),
    ];
    for (source, is_valid) in cases {
        assert_eq!(
            Pattern::parse(source.clone()).is_ok(),
            is_valid,
            "parser: {source}"
        );
        assert_eq!(schema_accepts(&source), is_valid, "schema: {source}");
    }
    for name in EventView::FIELDS {
        let source = json!({*name: ["x"], "$or": [{*name: ["x"]}]});
        assert!(
            Pattern::parse(source.clone()).is_ok() && schema_accepts(&source),
            "{name}"
        );
    }
}

#[test]
fn some_bounds_are_beyond_a_schema() {
    let fields: serde_json::Map<String, Value> = (0..17)
        .map(|number| (number.to_string(), json!([1])))
        .collect();
    let sources = [
        json!({"metadata": fields}),
        json!({"metadata": {"a": {"b": {"c": {"d": {"e": {"f": [1]}}}}}}}),
        json!({"latency_ms": [{"numeric": [">", 9, "<", 5]}]}),
        json!({"metadata": {"ip": [{"cidr": "10.1.2.3/8"}]}}),
    ];
    for source in sources {
        assert!(schema_accepts(&source), "{source}");
        assert!(Pattern::parse(source.clone()).is_err(), "{source}");
    }
}
