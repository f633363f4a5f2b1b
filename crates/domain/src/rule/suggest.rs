//! A `match` made from an event: what kind of thing happened, not to whom.

use serde_json::{Map, Value};

use crate::event::EventView;

/// What other events of the same kind share. Ids are not among it: a rule on them would want this one
/// event, or this one agent.
const SHARED: [&str; 4] = ["event_type", "action", "result", "severity"];

/// A text longer than this is left out: four of them fit into a pattern, however they are escaped.
const TEXT_BYTES_MAX: usize = 128;

/// A pattern that wants this event and those like it.
pub fn pattern(event: &EventView<'_>) -> Value {
    let mut fields = Map::new();
    for name in SHARED {
        let text = event.text(name);
        if let Some(text) = text.filter(|text| text.len() <= TEXT_BYTES_MAX) {
            fields.insert(name.to_owned(), Value::from(vec![text.into_owned()]));
        }
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::rule::set::{
        Whole,
        random::{self, Random, rule},
    };

    #[test]
    fn a_rule_is_made_of_what_happened_and_not_to_whom() {
        let json = r#"{"id":"evt_1","event_type":"tool_call","agent_id":"a","action":"files.delete",
            "result":"denied","severity":"high","session_id":"s","metadata":{"region":"eu"}}"#;
        let view = EventView::parse(json).expect("an event");
        assert_eq!(
            pattern(&view),
            json!({"event_type": ["tool_call"], "action": ["files.delete"], "result": ["denied"],
                "severity": ["high"]})
        );
    }

    proptest! {
        #[test]
        fn what_is_made_from_an_event_matches_it(seed in any::<u64>(), text in ".*") {
            let random = random::event(&mut Random(seed));
            let hostile = json!({"event_type": text, "action": text, "result": text, "severity": text});
            for json in [random, hostile.to_string(), "{}".to_owned()] {
                let view = EventView::parse(&json).expect("an event");
                let rule = rule(1, pattern(&view), Vec::new());
                prop_assert!(Whole::of(&view).is_wanted(&rule), "{}", json);
            }
        }
    }
}
