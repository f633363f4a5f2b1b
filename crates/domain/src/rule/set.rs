//! The rules of one organisation, indexed: an event meets only the rules filed under its values.
//!
//! Each rule is filed under one of its fields, once for each value it lists there; the other
//! fields are tested on the few rules an event meets. A rule that wants every event is in `always`.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

use super::{
    Pattern, Rule,
    pattern::{FieldTest, Scalar},
};
use crate::event::EventView;

/// The enabled rules of one organisation. Never changed in place: a new one replaces it whole.
#[derive(Debug, Default)]
pub struct RuleSet {
    always: Vec<Arc<Rule>>,
    by_field: HashMap<Vec<String>, HashMap<Scalar<'static>, Vec<Arc<Rule>>>>,
}

impl RuleSet {
    pub fn new(rules: impl IntoIterator<Item = Arc<Rule>>) -> Self {
        let mut set = Self::default();
        for rule in rules.into_iter().filter(|rule| rule.definition.enabled) {
            set.file(&rule);
        }
        set
    }

    pub fn is_empty(&self) -> bool {
        self.always.is_empty() && self.by_field.is_empty()
    }

    /// The rules that want this event, in no particular order, each once.
    pub fn matching(&self, event: &EventView<'_>) -> Vec<Arc<Rule>> {
        let mut found = self.always.clone();
        for (path, by_value) in &self.by_field {
            let Some(field) = field_at(event, path) else {
                continue;
            };
            for scalar in scalars(&field) {
                let candidates = by_value.get(&scalar).into_iter().flatten();
                for rule in candidates.filter(|rule| wants(rule, event)) {
                    if !found.iter().any(|already| already.id == rule.id) {
                        found.push(Arc::clone(rule));
                    }
                }
            }
        }
        found
    }

    fn file(&mut self, rule: &Arc<Rule>) {
        let Some(test) = rule
            .definition
            .pattern
            .tests()
            .iter()
            .min_by_key(|test| selectivity(test))
        else {
            self.always.push(Arc::clone(rule));
            return;
        };
        let by_value = self.by_field.entry(test.path.clone()).or_default();
        for wanted in &test.any_of {
            let filed = by_value.entry(wanted.clone()).or_default();
            if !filed.iter().any(|already| Arc::ptr_eq(already, rule)) {
                filed.push(Arc::clone(rule));
            }
        }
    }
}

/// Whether every test of the rule passes; the naive truth the index must agree with.
pub fn wants(rule: &Rule, event: &EventView<'_>) -> bool {
    wanted_by(&rule.definition.pattern, event)
}

/// Whether every test of the pattern passes.
pub(super) fn wanted_by(pattern: &Pattern, event: &EventView<'_>) -> bool {
    pattern.tests().iter().all(|test| {
        field_at(event, &test.path).is_some_and(|field| {
            scalars(&field)
                .iter()
                .any(|scalar| test.any_of.contains(scalar))
        })
    })
}

/// Lower is better to file under: names that tell most events apart, few listed values.
fn selectivity(test: &FieldTest) -> (u8, usize) {
    let field = match test.path[0].as_str() {
        "action" | "agent_id" | "resource" | "session_id" | "trace_id" => 0,
        "metadata" => 1,
        _ => 2,
    };
    (field, test.any_of.len())
}

fn field_at(event: &EventView<'_>, path: &[String]) -> Option<Value> {
    let (top, inside) = path.split_first()?;
    let mut field: Value = serde_json::from_str(event.field(top)?.get()).ok()?;
    for key in inside {
        field = field.as_object_mut()?.remove(key)?;
    }
    Some(field)
}

/// The values a field holds: itself, or its elements.
fn scalars(field: &Value) -> Vec<Scalar<'_>> {
    match field {
        Value::Array(elements) => elements.iter().filter_map(Scalar::of).collect(),
        value => Scalar::of(value).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::{OrgId, RuleId, Timestamp, rule::Definition};

    fn rule(id: u128, source: Value) -> Arc<Rule> {
        Arc::new(Rule {
            id: RuleId::from_uuid(Uuid::from_u128(id)),
            org_id: OrgId::from_uuid(Uuid::from_u128(1)),
            definition: Definition::plain(
                "r",
                Pattern::parse(source).expect("valid"),
                "https://example.com",
            ),
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
            version: 1,
            counts_since: 1,
        })
    }

    fn matched(source: Value, event: &Value) -> bool {
        let text = event.to_string();
        let view = EventView::parse(&text).expect("event");
        !RuleSet::new([rule(1, source)]).matching(&view).is_empty()
    }

    #[test]
    fn the_language_by_cases() {
        let event = json!({"event_type": "tool_call", "result": "denied", "latency_ms": 5.0,
            "metadata": {"tags": ["a", "b"], "amount": 500, "deep": {"on": true}, "none": null}});
        let cases = [
            (json!({}), true),
            (json!({"event_type": ["tool_call"]}), true),
            (json!({"event_type": ["login", "tool_call"]}), true),
            (json!({"event_type": ["login"]}), false),
            (
                json!({"event_type": ["tool_call"], "result": ["success"]}),
                false,
            ),
            (
                json!({"event_type": ["tool_call"], "result": ["denied"]}),
                true,
            ),
            (json!({"latency_ms": [5]}), true),
            (json!({"metadata": {"amount": [500.0]}}), true),
            (json!({"metadata": {"amount": ["500"]}}), false),
            (json!({"metadata": {"tags": ["b"]}}), true),
            (json!({"metadata": {"tags": ["b", "a"]}}), true),
            (json!({"metadata": {"deep": {"on": [true]}}}), true),
            (json!({"metadata": {"none": [null]}}), true),
            (json!({"metadata": {"absent": [null]}}), false),
            (json!({"agent_id": ["a"]}), false),
        ];
        for (source, expected) in cases {
            assert_eq!(matched(source.clone(), &event), expected, "{source}");
        }
    }

    #[test]
    fn a_disabled_rule_matches_nothing() {
        let mut off = Rule::clone(&rule(1, json!({})));
        off.definition.enabled = false;
        assert!(RuleSet::new([Arc::new(off)]).is_empty());
    }

    fn pattern() -> impl Strategy<Value = Value> {
        let values = || prop::collection::vec(0u8..3, 1..3);
        (
            prop::option::of(values()),
            prop::option::of(values()),
            prop::option::of(values()),
        )
            .prop_map(|(agent, result, amount)| {
                let mut source = json!({});
                let texts =
                    |numbers: Vec<u8>| numbers.iter().map(u8::to_string).collect::<Vec<_>>();
                if let Some(agent) = agent {
                    source["agent_id"] = json!(texts(agent));
                }
                if let Some(result) = result {
                    source["result"] = json!(texts(result));
                }
                if let Some(amount) = amount {
                    source["metadata"] = json!({"amount": amount});
                }
                source
            })
    }

    proptest! {
        #[test]
        fn the_index_agrees_with_testing_every_rule(
            sources in prop::collection::vec(pattern(), 0..20),
            agent in 0u8..3, result in 0u8..3, amounts in prop::collection::vec(0u8..3, 0..3),
        ) {
            let rules: Vec<_> = (1u128..).zip(sources).map(|(id, source)| rule(id, source)).collect();
            let event = json!({"agent_id": agent.to_string(), "result": result.to_string(),
                "metadata": {"amount": amounts}}).to_string();
            let view = EventView::parse(&event).expect("event");
            let mut expected: Vec<_> = rules.iter().filter(|rule| wants(rule, &view)).map(|rule| rule.id).collect();
            let mut found: Vec<_> = RuleSet::new(rules).matching(&view).iter().map(|rule| rule.id).collect();
            expected.sort();
            found.sort();
            prop_assert_eq!(found, expected);
        }
    }
}
