//! What a tool is called with, as policies can look at it and the trail can keep it.
//!
//! Cedar has no `null` and fewer numbers than JSON, and a record has its bounds. What is `null` is left out, as if
//! it had not been sent; a number that is not an integer is a text. What is too large or too deep is cut, and
//! **what is cut changes its type**: a text becomes an object, everything else a text. So a policy that looks into
//! it (`like`, `has`, `.`, `contains`) cannot be evaluated, which is a `deny`, and nothing is ever allowed because
//! a part of it could not be seen. Policies that do not look there are not affected.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The longest text: commands and paths are shorter, contents of files are not.
const TEXT_BYTES_MAX: usize = 2 * 1024;
/// How deep it may be nested: half of what the engine takes.
const DEPTH_MAX: usize = 16;
/// How large it may be in all: half of what the metadata of an event may have, so that there is room for the
/// rest of the decision.
const BYTES_MAX: usize = 8 * 1024;
/// What is shown of a text that was cut.
const START_CHARS: usize = 128;

/// A value that fits, and whether something was cut. `None`: there is nothing.
pub fn fitted(value: &Value) -> (Option<Value>, bool) {
    let mut is_cut = false;
    let fitted = fit(value, 1, &mut is_cut);
    let fitted = fitted.map(|fitted| in_all(fitted, value, &mut is_cut));
    (fitted, is_cut)
}

/// A text that fits, or what stands for it.
pub fn name(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    cut_to_text(&Value::String(text.to_owned()))
}

fn fit(value: &Value, depth: usize, is_cut: &mut bool) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Number(number) if number.is_i64() => Some(value.clone()),
        Value::Number(number) => Some(Value::String(number.to_string())),
        Value::String(text) if text.len() > TEXT_BYTES_MAX => Some(cut(value, is_cut)),
        Value::Bool(_) | Value::String(_) => Some(value.clone()),
        Value::Array(_) | Value::Object(_) if depth > DEPTH_MAX => Some(cut(value, is_cut)),
        Value::Array(items) => {
            let items = items.iter().filter_map(|item| fit(item, depth + 1, is_cut));
            Some(items.collect())
        }
        // Such members would make it a value of another type of Cedar.
        Value::Object(members) if members.keys().any(|name| name.starts_with("__")) => {
            Some(cut(value, is_cut))
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .filter_map(|(name, member)| Some((name.clone(), fit(member, depth + 1, is_cut)?)));
            Some(Value::Object(members.collect()))
        }
    }
}

/// Cuts the largest members until the rest fits; if there are too many, all of it.
fn in_all(fitted: Value, whole: &Value, is_cut: &mut bool) -> Value {
    let mut bytes = bytes_of(&fitted);
    if bytes <= BYTES_MAX {
        return fitted;
    }
    let (Value::Object(mut members), Value::Object(whole_members)) = (fitted, whole) else {
        return cut(whole, is_cut);
    };
    for name in by_size(&members) {
        let Some(member) = whole_members.get(&name) else {
            continue;
        };
        let instead = cut(member, is_cut);
        let (before, after) = (members.get(&name).map_or(0, bytes_of), bytes_of(&instead));
        if after >= before {
            break;
        }
        bytes = bytes - before + after;
        members.insert(name, instead);
        if bytes <= BYTES_MAX {
            return Value::Object(members);
        }
    }
    cut(whole, is_cut)
}

/// The names of the members, the largest first.
fn by_size(members: &Map<String, Value>) -> Vec<String> {
    let mut names: Vec<_> = members
        .iter()
        .map(|(name, member)| (bytes_of(member), name))
        .collect();
    names.sort_unstable_by(|one, other| other.cmp(one));
    names.into_iter().map(|(_, name)| name.clone()).collect()
}

fn cut(value: &Value, is_cut: &mut bool) -> Value {
    *is_cut = true;
    match value {
        Value::String(text) => json!({
            "bytes": text.len(),
            "sha256": hex::encode(Sha256::digest(text)),
            "start": text.chars().take(START_CHARS).collect::<String>(),
        }),
        other => Value::String(cut_to_text(other)),
    }
}

fn cut_to_text(value: &Value) -> String {
    let digest = digest(value);
    format!("cut: {} bytes, sha256:{}", digest.bytes, digest.sha256)
}

/// What is kept of a value that is not kept: its JSON's length and hash.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct Kept {
    pub bytes: usize,
    pub sha256: String,
}

/// Of the JSON as we write it: members sorted by name, nothing between them.
pub fn digest(value: &Value) -> Kept {
    let json = value.to_string();
    Kept {
        bytes: json.len(),
        sha256: hex::encode(Sha256::digest(&json)),
    }
}

fn bytes_of(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use policy::{Asked, Question};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_policies_can_see_is_left_as_it_is() {
        let input = json!({"command": "ls", "timeout": 5, "flags": [true, "a"], "env": {"A": "b"}});
        assert_eq!(fitted(&input), (Some(input.clone()), false));
    }

    #[test]
    fn what_cedar_has_not_is_left_out_or_a_text() {
        let input = json!({"a": null, "b": [null, 1], "c": 0.5, "d": u64::MAX, "e": 1e300});
        let expected = json!({"b": [1], "c": "0.5", "d": "18446744073709551615", "e": "1e300"});
        assert_eq!(fitted(&input), (Some(expected), false));
        assert_eq!(fitted(&Value::Null), (None, false));
    }

    #[test]
    fn what_is_cut_is_of_another_type() {
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        let deep = (0..40).fold(json!({"a": 1}), |inside, _| json!({"a": inside}));
        let escape = json!({"__entity": {"type": "Agent", "id": "a"}});
        let input = json!({"long": long, "deep": deep, "escape": escape, "short": "y"});
        let (fitted, is_cut) = fitted(&input);
        let fitted = fitted.expect("a value");
        assert!(is_cut);
        assert_eq!(fitted["long"]["bytes"], TEXT_BYTES_MAX + 1);
        assert!(fitted["escape"].is_string());
        assert_eq!(fitted["short"], "y");
        let depth = |mut value: &Value| {
            let mut depth = 0;
            while let Some(inside) = value.get("a") {
                (value, depth) = (inside, depth + 1);
            }
            (depth, value.clone())
        };
        let (depth, bottom) = depth(&fitted["deep"]);
        assert!(depth < 40 && bottom.is_string(), "{bottom}");
    }

    #[test]
    fn the_largest_members_are_cut_first_and_all_of_it_if_that_does_not_help() {
        let large = "x".repeat(1500);
        let items = |count: usize| json!(vec![large.clone(); count]);
        let input = json!({"edits": items(5), "more": items(1), "path": "/a"});
        let (fitted_input, is_cut) = fitted(&input);
        let fitted_input = fitted_input.expect("a value");
        assert!(is_cut && fitted_input["edits"].is_string());
        assert_eq!(fitted_input["more"], items(1));
        let many: Map<String, Value> = (0..2000).map(|n| (format!("name-{n}"), json!(n))).collect();
        let (fitted_many, _) = fitted(&Value::Object(many));
        assert!(fitted_many.expect("a value").is_string());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
            (0_usize..9000).prop_map(|count| Value::from("x".repeat(count))),
        ];
        leaf.prop_recursive(24, 200, 8, |inner| {
            let names = prop_oneof![
                Just("__entity".to_owned()),
                Just("__extn".to_owned()),
                ".{0,6}"
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::hash_map(names, inner, 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_a_tool_is_called_with_can_be_asked_about(input in any_json()) {
            let (fitted, _) = fitted(&input);
            prop_assert!(fitted.as_ref().is_none_or(|fitted| bytes_of(fitted) <= BYTES_MAX));
            let context = fitted.map(|fitted| ("tool_input".to_owned(), fitted));
            let context = context.into_iter().collect();
            let question = Question::of_agent("agent", "tool.bash", None, context);
            prop_assert!(Asked::new(&question).is_ok());
        }
    }
}
