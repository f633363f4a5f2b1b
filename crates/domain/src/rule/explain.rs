//! Why a rule wants an event or not: every condition, what it asks for and what it saw.

use serde::Serialize;
use serde_json::Value;

use super::{
    Definition,
    pattern::{Conditions, FieldTest, Pattern, predicate::Predicate, scalar::Seen},
    set::Whole,
};
use crate::event::EventView;

/// What is shown of a value that an event holds: many conditions may look at the same large one.
const SEEN_CHARS_MAX: usize = 256;

/// Whether a rule wants an event, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// `match` holds and no exception does.
    pub matches: bool,
    /// The conditions of `match`.
    pub leaves: Vec<Leaf>,
    /// The same for each of `except`, in order.
    pub except: Vec<Exception>,
}

/// Whether an exception rules the event out, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Exception {
    pub matches: bool,
    pub leaves: Vec<Leaf>,
}

/// One thing listed for a field. Of those with the same path (and branch) one has to pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leaf {
    /// The dotted name of the field.
    pub path: String,
    /// The keys from the top down to the field, of which one may have a dot in it.
    #[serde(skip)]
    pub keys: Vec<Box<str>>,
    /// Which pattern of `$or` it belongs to: those with the same number have to pass together, and of
    /// the numbers one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub or: Option<usize>,
    pub op: &'static str,
    pub wanted: Value,
    /// Not there if the event does not have the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<Value>,
    pub pass: bool,
}

/// Explains with the predicates that decide.
pub fn explain(definition: &Definition, event: &EventView<'_>) -> Explanation {
    let event = Whole::of(event);
    let except: Vec<Exception> = definition
        .except
        .iter()
        .map(|pattern| Exception {
            matches: event.is_wanted_by(pattern),
            leaves: leaves(pattern, &event),
        })
        .collect();
    let is_vetoed = except.iter().any(|exception| exception.matches);
    Explanation {
        matches: event.is_wanted_by(&definition.pattern) && !is_vetoed,
        leaves: leaves(&definition.pattern, &event),
        except,
    }
}

fn leaves(pattern: &Pattern, event: &Whole) -> Vec<Leaf> {
    let Conditions { all, any } = &**pattern.conditions();
    let branches = any.iter().enumerate();
    let in_branches =
        branches.flat_map(|(or, tests)| tests.iter().map(move |test| (Some(or), test)));
    let tests = all.iter().map(|test| (None, test)).chain(in_branches);
    tests
        .flat_map(|(or, test)| leaves_of(test, or, event))
        .collect()
}

fn leaves_of(test: &FieldTest, or: Option<usize>, event: &Whole) -> Vec<Leaf> {
    let value = event.at(&test.path);
    let seen = value.map(Seen::of);
    let leaf = |predicate: &Predicate| Leaf {
        path: test.path.join("."),
        keys: test.path.clone(),
        or,
        op: predicate.operator(),
        wanted: predicate.wanted(),
        seen: value.map(shown),
        pass: predicate.passes(seen.as_ref()),
    };
    test.any_of.iter().map(leaf).collect()
}

fn shown(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
        scalar => return scalar.clone(),
    };
    match text.char_indices().nth(SEEN_CHARS_MAX) {
        Some((end, _)) => Value::from(format!("{}...", &text[..end])),
        None => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::rule::set::random::{self, Random, random_rule, rule};

    fn explained(rule: &super::super::Rule, json: &str) -> Explanation {
        let view = EventView::parse(json).expect("an event");
        explain(&rule.definition, &view)
    }

    #[test]
    fn every_condition_says_what_it_wanted_and_what_it_saw() {
        let rule = rule(
            1,
            json!({"result": ["denied", {"prefix": "err"}],
                "$or": [{"agent_id": [{"exists": false}]}, {"metadata": {"n": [{"numeric": [">=", 5, "<", 9.5]}]}}]}),
            vec![json!({"action": ["files.read"]})],
        );
        let json = r#"{"result":"error","agent_id":"a","metadata":{"n":7}}"#;
        assert_eq!(
            serde_json::to_value(explained(&rule, json)).expect("JSON"),
            json!({"matches": true, "leaves": [
                {"path": "result", "op": "equals", "wanted": "denied", "seen": "error", "pass": false},
                {"path": "result", "op": "prefix", "wanted": "err", "seen": "error", "pass": true},
                {"path": "agent_id", "or": 0, "op": "exists", "wanted": false, "seen": "a", "pass": false},
                {"path": "metadata.n", "or": 1, "op": "numeric", "wanted": [">=", 5, "<", 9.5], "seen": 7, "pass": true},
            ], "except": [{"matches": false, "leaves": [
                {"path": "action", "op": "equals", "wanted": "files.read", "pass": false},
            ]}]})
        );
    }

    #[test]
    fn large_values_are_shown_in_part() {
        let rule = rule(
            1,
            json!({"metadata": {"long": [{"suffix": "x"}]}}),
            Vec::new(),
        );
        let json = json!({"metadata": {"long": "x".repeat(10_000)}}).to_string();
        let explained = explained(&rule, &json);
        assert!(explained.matches);
        let seen = explained.leaves[0].seen.as_ref().and_then(Value::as_str);
        assert_eq!(seen.map(str::len), Some(SEEN_CHARS_MAX + "...".len()));
    }

    /// Whether the conditions of a pattern hold, told from its leaves alone.
    fn add_up(leaves: &[Leaf]) -> bool {
        let holds = |or: Option<usize>| {
            let mine = || leaves.iter().filter(move |leaf| leaf.or == or);
            mine().all(|leaf| mine().any(|other| other.keys == leaf.keys && other.pass))
        };
        let mut branches = leaves.iter().filter_map(|leaf| leaf.or).peekable();
        holds(None) && (branches.peek().is_none() || branches.any(|or| holds(Some(or))))
    }

    proptest! {
        #[test]
        fn an_explanation_agrees_with_the_verdict_and_its_leaves_add_up(seed in any::<u64>()) {
            let mut random = Random(seed);
            let json = random::event(&mut random);
            for id in 1..=20 {
                let rule = random_rule(&mut random, id);
                let explained = explained(&rule, &json);
                let view = EventView::parse(&json).expect("an event");
                prop_assert_eq!(explained.matches, rule.definition.matches(&view));
                let is_vetoed = explained.except.iter().any(|exception| exception.matches);
                prop_assert_eq!(explained.matches, add_up(&explained.leaves) && !is_vetoed);
                for exception in &explained.except {
                    prop_assert_eq!(exception.matches, add_up(&exception.leaves));
                }
            }
        }
    }
}
