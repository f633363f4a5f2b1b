//! What a tool is called with, or what is about to be sent, as policies can look at it and the trail can keep it.
//!
//! Cedar has no `null` and fewer numbers than JSON, and a record has its bounds. What is `null` is left out, as if
//! it had not been sent; a number that has a fraction, or is too large to be exact, is a text. What is too large or too deep is cut, and
//! **what is cut changes its type**: a text becomes an object, everything else a text. So a policy that looks into
//! it (`like`, `has`, `.`, `contains`) cannot be evaluated, which is a `deny`, and nothing is ever allowed because
//! a part of it could not be seen. Policies that do not look there are not affected.

use serde_json::{Map, Number, Value, json};
use sha2::{Digest, Sha256};

use crate::digest::of_json;

/// The longest text: commands and paths are shorter, contents of files are not.
const TEXT_BYTES_MAX: usize = 2 * 1024;
/// How deep it may be nested: half of what the engine takes.
const DEPTH_MAX: usize = 16;
/// The longest of the names beside it, as JSON: paths are shorter, and all of them together leave room for the rest.
const NAME_BYTES_MAX: usize = 1024;
/// Up to here every whole number is a number of its own, however it was written.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
/// What is shown of a text that was cut.
const START_CHARS: usize = 128;

/// Begins what is left of a value that is no text.
pub(crate) const CUT: &str = "cut";

/// A value of at most so many bytes as JSON, or little more if all of it had to be cut, and whether something was.
/// `None`: there is nothing. A value has two bytes at least, so 7 KiB have fewer values than a question may have.
pub fn fitted(value: &Value, bytes_max: usize) -> (Option<Value>, bool) {
    let mut is_cut = false;
    let fitted = fit(value, 1, &mut is_cut);
    let fitted = fitted.map(|fitted| in_all(fitted, value, bytes_max, &mut is_cut));
    (fitted, is_cut)
}

/// A name beside it that fits, or what is left of it.
pub fn name(text: &str, is_cut: &mut bool) -> Value {
    let name = Value::from(text);
    if bytes_of(&name) <= NAME_BYTES_MAX {
        return name;
    }
    cut(&name, is_cut)
}

fn fit(value: &Value, depth: usize, is_cut: &mut bool) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Number(number) if number.is_i64() => Some(value.clone()),
        Value::Number(number) => Some(match whole(number) {
            Some(whole) => Value::from(whole),
            None => Value::String(number.to_string()),
        }),
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

/// `1.0` is the number that `1` is.
#[expect(
    clippy::cast_possible_truncation,
    reason = "without a fraction and within 2^53 it is exact"
)]
fn whole(number: &Number) -> Option<i64> {
    let number = number.as_f64()?;
    (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then_some(number as i64)
}

/// Cuts the largest members until the rest fits; if there are too many, all of it.
fn in_all(fitted: Value, whole: &Value, bytes_max: usize, is_cut: &mut bool) -> Value {
    let mut bytes = bytes_of(&fitted);
    if bytes <= bytes_max {
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
        if bytes <= bytes_max {
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
    let Kept { bytes, digest } = digest(value);
    format!("{CUT}: {bytes} bytes, {digest}")
}

/// What is kept of a value that is not kept: how long its JSON is, and a name for what it says.
#[derive(Debug, PartialEq, Eq, serde::Serialize)]
pub struct Kept {
    pub bytes: usize,
    pub digest: String,
}

/// The same for any order of members.
pub fn digest(value: &Value) -> Kept {
    Kept {
        bytes: bytes_of(value),
        digest: of_json(value),
    }
}

fn bytes_of(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{CedarRequest, Question};

    const BYTES_MAX: usize = 7 * 1024;

    fn fitted(value: &Value) -> (Option<Value>, bool) {
        super::fitted(value, BYTES_MAX)
    }

    #[test]
    fn what_policies_can_see_is_left_as_it_is() {
        let input = json!({"command": "ls", "timeout": 5, "flags": [true, "a"], "env": {"A": "b"}});
        assert_eq!(fitted(&input), (Some(input.clone()), false));
    }

    #[test]
    fn what_cedar_has_not_is_left_out_or_a_text() {
        let input = json!({"a": null, "b": [null, 1], "c": 0.5, "d": u64::MAX, "e": 1e300, "f": 1.0, "g": -2e3});
        let expected = json!({"b": [1], "c": "0.5", "d": "18446744073709551615", "e": "1e+300", "f": 1, "g": -2000});
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

    #[test]
    fn many_small_values_are_as_few_as_a_question_may_have() {
        for count in [3_500, 4_200, 10_000] {
            let (fitted, _) = fitted(&json!({"a": vec![1; count]}));
            let context = fitted.map(|fitted| ("tool_input".to_owned(), fitted));
            let context = context.into_iter().collect();
            let question = Question::of_agent("agent", "tool.bash", None, context);
            assert!(CedarRequest::new(&question).is_ok(), "{count}");
        }
    }

    #[test]
    fn a_name_is_as_long_as_its_json_and_what_is_cut_of_it_is_no_text() {
        let mut is_cut = false;
        assert_eq!(name("/srv/app", &mut is_cut), "/srv/app");
        assert!(!is_cut);
        let cut = name(&"\u{1}".repeat(NAME_BYTES_MAX / 2), &mut is_cut);
        assert!(is_cut && cut.is_object(), "{cut}");
    }

    #[test]
    fn the_order_of_members_is_nothing_that_is_kept() {
        let one = serde_json::from_str(r#"{"a":1,"b":{"c":2,"d":3}}"#).expect("JSON");
        let other = serde_json::from_str(r#"{"b":{"d":3,"c":2},"a":1}"#).expect("JSON");
        assert_eq!(digest(&one), digest(&other));
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
            prop_assert!(CedarRequest::new(&question).is_ok());
        }
    }
}
