//! An event made to fit a pattern, as far as that is plain: what a test delivery carries if nobody gives one.

use serde_json::{Map, Value, json};

use super::Pattern;
use crate::event::OF_THE_SERVER;

/// What a sample holds where the pattern asks for nothing.
fn plain() -> Map<String, Value> {
    let plain = json!({
        "event_type": "tool_call",
        "agent_id": "watchbell-test",
        "action": "alerts.test",
        "result": "success",
        "metadata": {"note": "Made by Watchbell to try out an alert rule."},
    });
    match plain {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// An event as a client would send it. It may not match, where the pattern has more than values and
/// simple operators, or asks for what the server sets; and it may not be an event that is accepted, where the pattern wants none.
pub fn sample(pattern: &Pattern) -> Value {
    let mut event = plain();
    if let Value::Object(wanted) = pattern.source() {
        fit(&mut event, wanted);
    }
    for name in OF_THE_SERVER {
        event.remove(name);
    }
    Value::Object(event)
}

/// A sample that fits no pattern in particular, but is accepted.
pub fn plain_sample() -> Value {
    Value::Object(plain())
}

fn fit(event: &mut Map<String, Value>, wanted: &Map<String, Value>) {
    for (name, wanted) in wanted {
        match wanted {
            // Of these patterns one is enough.
            Value::Array(patterns) if name == "$or" => {
                if let Some(first) = patterns.first().and_then(Value::as_object) {
                    fit(event, first);
                }
            }
            Value::Array(alternatives) => {
                if let Some(value) = alternatives.iter().find_map(fitting) {
                    event.insert(name.clone(), value);
                }
            }
            Value::Object(deeper) => {
                let mut inner = match event.remove(name) {
                    Some(Value::Object(inner)) => inner,
                    _ => Map::new(),
                };
                fit(&mut inner, deeper);
                event.insert(name.clone(), Value::Object(inner));
            }
            _ => {}
        }
    }
}

/// A value that one alternative wants.
fn fitting(wanted: &Value) -> Option<Value> {
    let Value::Object(operator) = wanted else {
        return Some(wanted.clone());
    };
    let (name, argument) = operator.iter().next()?;
    match (name.as_str(), argument) {
        ("prefix" | "suffix" | "contains" | "equals-ignore-case", Value::String(text)) => {
            Some(Value::from(text.as_str()))
        }
        ("wildcard", Value::String(text)) => Some(Value::from(text.replace('*', "x"))),
        ("exists", Value::Bool(true)) => Some(Value::from("x")),
        ("numeric", Value::Array(bounds)) => bounds.chunks(2).find_map(|bound| match bound {
            [Value::String(sign), Value::Number(number)] if sign.contains('=') => {
                Some(Value::from(number.clone()))
            }
            _ => None,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_holds_what_the_pattern_lists_and_is_whole() {
        let source = json!({"result": ["denied", "error"], "metadata": {"amount": [500]}});
        let event = sample(&Pattern::parse(source).expect("valid"));
        assert_eq!(event["result"], "denied");
        assert_eq!(event["metadata"]["amount"], 500);
        assert_eq!(event["action"], plain_sample()["action"]);
        let source = json!({"$or": [{"result": ["denied"]}, {"agent_id": ["a"]}]});
        let event = sample(&Pattern::parse(source).expect("valid"));
        assert_eq!(event["result"], "denied");
        assert_eq!(event.get("$or"), None);
        let source = json!({"event_type": ["integrity"], "source": ["server"]});
        let event = sample(&Pattern::parse(source).expect("valid"));
        assert_eq!(event["event_type"], "integrity");
        assert_eq!(event.get("source"), None, "the server sets it");
    }

    #[test]
    fn simple_operators_are_met() {
        let met = |operator: Value| fitting(&operator);
        assert_eq!(
            met(json!({"prefix": "payments."})),
            Some(json!("payments."))
        );
        assert_eq!(met(json!({"wildcard": "a*b"})), Some(json!("axb")));
        assert_eq!(met(json!({"numeric": [">", 3, "<=", 7]})), Some(json!(7)));
        assert_eq!(met(json!({"anything-but": ["a"]})), None);
        assert_eq!(met(json!({"exists": false})), None);
    }
}
