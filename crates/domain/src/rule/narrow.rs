//! What the trail can be searched by on behalf of a pattern: a filter that is never narrower than it.
//!
//! A backtest puts a rule before the events of days. Where the pattern lists plain texts for a field that
//! the store knows by name, what holds none of them need not be read at all.

use serde_json::Value;

use super::Pattern;
use crate::event::{EventView, Filter};

/// A filter that every event passes which the pattern matches, and as few others as it can tell.
pub fn narrowed(pattern: &Pattern) -> Filter {
    let mut filter = Filter::default();
    // A filter also has times and a text, which are no fields.
    let fields = Filter::FIELDS.iter().copied();
    for name in fields.filter(|name| EventView::FIELDS.contains(name)) {
        let wanted = pattern.source().get(name).and_then(Value::as_array);
        let Some(texts) = wanted.and_then(|wanted| texts(name, wanted)) else {
            continue;
        };
        // What a filter refuses (too many values, a text that no event holds) is left to the pattern.
        let mut narrower = filter.clone();
        if texts.iter().all(|text| narrower.add(name, text).is_ok()) {
            filter = narrower;
        }
    }
    filter
}

/// The alternatives of a field as a filter takes them, if all of them are such.
fn texts(name: &str, wanted: &[Value]) -> Option<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(operator) if name == "action" && operator.len() == 1 => {
            let start = operator.get("prefix")?.as_str()?;
            Some(format!("{start}*"))
        }
        _ => None,
    };
    let texts: Option<Vec<String>> = wanted.iter().map(text).collect();
    texts.filter(|texts| !texts.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{EventId, Timestamp, rule::Definition};

    const AT: Timestamp = Timestamp::from_unix_millis(1_763_200_000_000);

    fn narrowed_to(source: Value) -> Value {
        let pattern = Pattern::parse(source).expect("valid");
        serde_json::to_value(narrowed(&pattern)).expect("a filter is plain JSON")
    }

    #[test]
    fn only_what_a_filter_means_alike_is_taken_from_a_pattern() {
        assert_eq!(
            narrowed_to(json!({"event_type": ["tool_call"], "result": ["denied", "error"]})),
            json!({"event_type": ["tool_call"], "result": ["denied", "error"]})
        );
        let many: Vec<String> = (0..21).map(|number| format!("agent-{number}")).collect();
        for left_to_the_pattern in [
            json!({}),
            json!({"resource": ["a"]}),
            json!({"metadata": {"agent_id": ["a"]}}),
            json!({"agent_id": ["a", null]}),
            json!({"agent_id": many}),
            json!({"result": ["No Event Holds This"]}),
        ] {
            assert_eq!(
                narrowed_to(left_to_the_pattern.clone()),
                json!({}),
                "{left_to_the_pattern}"
            );
        }
    }

    fn values(of: &'static [&'static str]) -> impl Strategy<Value = Value> {
        let value = prop_oneof![
            4 => prop::sample::select(of).prop_map(Value::from),
            1 => prop::sample::select(of).prop_map(|text| json!({"prefix": &text[..text.len().div_ceil(2)]})),
            1 => prop::sample::select(of).prop_map(|text| json!({"anything-but": [text]})),
            1 => Just(Value::Null),
        ];
        prop::collection::vec(value, 1..3).prop_map(Value::from)
    }

    const ACTIONS: &[&str] = &[
        "payments.refund",
        "payments.pay",
        "files.delete",
        "*",
        "payments.*",
    ];
    const AGENTS: &[&str] = &["a", "b", "\"quoted\""];
    const RESULTS: &[&str] = &["denied", "success"];

    proptest! {
        #[test]
        fn what_the_pattern_matches_passes_the_filter(
            action in prop::option::of(values(ACTIONS)),
            agent in prop::option::of(values(AGENTS)),
            result in prop::option::of(values(RESULTS)),
            event in (0..3usize, 0..3usize, 0..2usize),
        ) {
            let mut source = json!({});
            for (name, wanted) in [("action", action), ("agent_id", agent), ("result", result)] {
                if let Some(wanted) = wanted {
                    source[name] = wanted;
                }
            }
            let pattern = Pattern::parse(source).expect("valid");
            let filter = narrowed(&pattern);
            let rule = Definition::plain("r", pattern, "https://example.com");
            let json = json!({"event_type": "tool_call", "action": ACTIONS[event.0],
                "agent_id": AGENTS[event.1], "result": RESULTS[event.2]}).to_string();
            let view = EventView::parse(&json).expect("an event");
            if rule.matches(&view) {
                prop_assert!(filter.matches(EventId::new(AT, [7; 10]), &json, &view), "{filter:?}");
            }
        }
    }
}
