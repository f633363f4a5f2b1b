//! Why a rule wants an event or not: every condition, what it asks for and what it saw.

use serde::Serialize;
use serde_json::Value;

use super::{
    Definition,
    pattern::{Conditions, FieldTest, Pattern, scalar::Seen},
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
    let leaf = |predicate: &super::pattern::predicate::Predicate| Leaf {
        path: test.path.join("."),
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
