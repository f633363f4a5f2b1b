//! The index agrees with trying every rule, after any changes; and it stays fast.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    random::{Random, event, random_rule, rule},
    *,
};
use crate::rule::definition::{CHEAP_COST_MAX, COST_MAX};

fn ids<'r>(rules: impl IntoIterator<Item = &'r Arc<Rule>>) -> Vec<RuleId> {
    rules.into_iter().map(|rule| rule.id).collect()
}

/// What trying every rule finds, in the order of ids.
fn naive<'r>(rules: impl IntoIterator<Item = &'r Arc<Rule>>, json: &str) -> Vec<RuleId> {
    let whole = Whole::of(&view(json));
    let wanting = rules
        .into_iter()
        .filter(|rule| rule.definition.enabled && whole.is_wanted(&rule.definition));
    let mut found = ids(wanting);
    found.sort_unstable();
    found
}

fn view(json: &str) -> EventView<'_> {
    EventView::parse(json).expect("an event")
}

fn matched(source: Value, event: &Value) -> bool {
    let json = event.to_string();
    let set = RuleSet::new([rule(1, source, Vec::new())]);
    !set.matching(&view(&json)).is_empty()
}

#[test]
fn a_million_rules_and_events_are_judged_as_without_the_index() {
    const RULES: usize = 100;
    const EVENTS: usize = 50;
    let (mut pairs, mut matches) = (0, 0);
    for seed in 0..200 {
        let mut random = Random(seed);
        let rules: Vec<_> = (1..=RULES as u128)
            .map(|id| random_rule(&mut random, id))
            .collect();
        let set = RuleSet::new(rules.iter().map(Arc::clone));
        for _ in 0..EVENTS {
            let json = event(&mut random);
            let found = ids(&set.matching(&view(&json)));
            assert_eq!(found, naive(&rules, &json), "seed {seed}: {json}");
            pairs += RULES;
            matches += found.len();
        }
    }
    assert!(pairs >= 1_000_000, "{pairs}");
    // Agreeing that nothing matches would prove little.
    assert!(matches > pairs / 50, "{matches} of {pairs}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_set_that_was_changed_is_like_one_made_anew(seed in any::<u64>()) {
        let mut random = Random(seed);
        let mut rules = BTreeMap::new();
        let mut set = RuleSet::default();
        for _ in 0..30 {
            let before = (set.clone(), rules.clone());
            let changes: Vec<_> = (0..random.below(6))
                .map(|_| {
                    let id = u128::from(1 + random.below(25));
                    let rule = random_rule(&mut random, id);
                    (rule.id, (random.below(3) > 0).then_some(rule))
                })
                .collect();
            for (id, rule) in &changes {
                match rule {
                    Some(rule) => rules.insert(*id, Arc::clone(rule)),
                    None => rules.remove(id),
                };
            }
            set = set.with(changes);
            let json = event(&mut random);
            prop_assert_eq!(ids(&set.matching(&view(&json))), naive(rules.values(), &json));
            // The one it was made from is as it was.
            prop_assert_eq!(ids(&before.0.matching(&view(&json))), naive(before.1.values(), &json));
            prop_assert_eq!(set.is_empty(), !rules.values().any(|rule| rule.definition.enabled));
            for id in (1..=25).map(|id| RuleId::from_uuid(uuid::Uuid::from_u128(id))) {
                prop_assert_eq!(set.get(id), rules.get(&id));
            }
        }
    }
}

#[test]
fn a_disabled_rule_is_known_and_matches_nothing() {
    let mut off = Rule::clone(&rule(1, json!({}), Vec::new()));
    off.definition.enabled = false;
    let set = RuleSet::new([Arc::new(off.clone())]);
    assert!(set.is_empty());
    assert_eq!(set.get(off.id).map(|rule| rule.id), Some(off.id));
    assert!(set.matching(&view("{}")).is_empty());
}

#[test]
fn an_exception_takes_back_what_the_pattern_wants() {
    let set = RuleSet::new([rule(
        1,
        json!({"event_type": ["tool_call"]}),
        vec![json!({"agent_id": ["a"]}), json!({"result": ["success"]})],
    )]);
    for (json, wanted) in [
        (r#"{"event_type":"tool_call","agent_id":"b"}"#, 1),
        (r#"{"event_type":"tool_call","agent_id":"a"}"#, 0),
        (r#"{"event_type":"tool_call","result":"success"}"#, 0),
    ] {
        assert_eq!(set.matching(&view(json)).len(), wanted, "{json}");
    }
}

#[test]
fn what_no_key_leads_to_is_not_indexed() {
    let cases = [
        (json!({}), false),
        (json!({"result": ["denied"]}), true),
        (json!({"result": [{"anything-but": ["success"]}]}), false),
        (json!({"action": [{"contains": "delete"}]}), false),
        (
            json!({"action": [{"contains": "delete"}], "agent_id": ["a"]}),
            true,
        ),
        (json!({"action": [{"prefix": "files."}, "a.b"]}), true),
        (
            json!({"action": [{"prefix": "files."}, {"contains": "b"}]}),
            false,
        ),
        (json!({"action": [{"wildcard": "*e*"}]}), false),
        (json!({"action": [{"wildcard": "*.delete"}]}), true),
        (json!({"metadata": {"n": [{"numeric": [">", 5]}]}}), false),
        (json!({"metadata": {"n": [{"numeric": ["=", 5]}]}}), true),
        (json!({"metadata": {"n": [{"exists": true}]}}), false),
        (json!({"$or": [{"result": ["a"]}, {"action": ["b"]}]}), true),
        (
            json!({"$or": [{"result": ["a"]}, {"action": [{"contains": "b"}]}]}),
            false,
        ),
    ];
    for (source, is_indexed) in cases {
        let rule = rule(1, source.clone(), Vec::new());
        assert_eq!(rule.definition.pattern.is_indexed(), is_indexed, "{source}");
        assert_eq!(
            RuleSet::new([rule]).scanned.is_empty(),
            is_indexed,
            "{source}"
        );
    }
}

#[test]
fn rules_that_ask_for_the_same_are_tested_once() {
    let same = |id| {
        rule(
            id,
            json!({"result": ["a", "b"], "agent_id": ["x"]}),
            Vec::new(),
        )
    };
    let set = RuleSet::new((1..=1_000).map(same));
    assert_eq!(set.nodes.values().flatten().count(), 1);
    let json = r#"{"agent_id":"x","result":"b"}"#;
    assert_eq!(set.matching(&view(json)).len(), 1_000);
    let without = set.with((1..=999).map(|id| (same(id).id, None)));
    assert_eq!(ids(&without.matching(&view(json))), [same(1_000).id]);
    assert!(without.with([(same(1_000).id, None)]).filed.is_empty());
}

#[test]
fn rules_that_share_a_key_are_spread_over_their_others() {
    let rules = (1..=10_000_u128).map(|id| {
        let source = json!({"event_type": ["tool_call"], "result": ["denied"],
            "metadata": {"case": [id.to_string()]}});
        rule(id, source, Vec::new())
    });
    let set = RuleSet::new(rules);
    let most = set.filed.values().map(|filed| filed.len()).max();
    assert!(most.is_some_and(|most| most <= 8), "{most:?}");
    // Without anything else to go by they stay together, and all are found.
    let rules = (1..=2_000_u32).map(|id| {
        let source = json!({"event_type": ["tool_call"], "result": ["denied"],
            "latency_ms": [{"numeric": ["<", id]}]});
        rule(id.into(), source, Vec::new())
    });
    let set = RuleSet::new(rules);
    let json = r#"{"event_type":"tool_call","result":"denied","latency_ms":0}"#;
    assert_eq!(set.matching(&view(json)).len(), 2_000);
}

#[test]
fn names_that_nobody_uses_any_more_are_forgotten() {
    let named = |number: usize| {
        let key = format!("key{number}");
        rule(1, json!({"metadata": {key: [1]}}), Vec::new())
    };
    let mut set = RuleSet::new([named(0)]);
    for number in 1..5_000 {
        let next = named(number);
        set = set.with([(next.id, Some(next))]);
    }
    assert!(
        set.paths.len() <= STALE_PATHS_MAX + 3,
        "{}",
        set.paths.len()
    );
    assert_eq!(
        set.matching(&view(r#"{"metadata":{"key4999":1}}"#)).len(),
        1
    );
}

/// How long an event may take with 500 rules that are as dear as they may be. Optimized it was at most 89 ms
/// while both processors compiled; unoptimized it is much longer.
const WORST_MAX: Duration = if cfg!(debug_assertions) {
    Duration::from_secs(20)
} else {
    Duration::from_millis(500)
};

/// A rule that every tool call is tested by, with so many tests of one field: in `$or`, or in `except` if a
/// key would lead to them; in that case it wants the event.
fn dear(id: u128, tests: &[Value], is_in_except: bool) -> Arc<Rule> {
    let patterns = tests
        .chunks(32)
        .map(|tests| json!({"metadata": {"f": tests}}));
    let patterns: Vec<Value> = patterns.collect();
    if is_in_except {
        return rule(id, json!({"event_type": ["tool_call"]}), patterns);
    }
    let source = json!({"event_type": ["tool_call"], "$or": patterns});
    rule(id, source, Vec::new())
}

/// The most expensive rules that an organization may have, found by a key that every event has, and events
/// made for them: long lists, or one long text, and no test passes.
#[test]
fn the_worst_rules_cost_a_bounded_time() {
    const DEAR: u128 = 50;
    let list = |element: &str| json!(vec![element; 256]);
    let letters = "a".repeat(59);
    let shapes: [(&str, Value, usize); 6] = [
        ("contains", json!("ab".repeat(8_000)), 128),
        ("contains", list(&letters), 128),
        ("wildcard", list(&letters), 128),
        ("equals-ignore-case", list(&letters), 128),
        ("cidr", list("2001:db8:ffff:ffff:ffff:ffff:ffff:ff01"), 128),
        ("equals", list(&letters), 8),
    ];
    for (operator, value, cost) in shapes {
        let test = |id: u128, number: usize| match operator {
            "contains" => json!({"contains": format!("{}b{id}.{number}", "ab".repeat(5))}),
            "wildcard" => json!({"wildcard": format!("*a*aa*{id}.{number}*")}),
            "cidr" => json!({"cidr": format!("10.{}.{}.{number}/32", id / 256, id % 256)}),
            // Other in the last letters only.
            "equals-ignore-case" => {
                json!({operator: format!("{}{id:03}.{number:03}", "A".repeat(52))})
            }
            _ => json!(format!("{}{id:03}.{number:03}", "a".repeat(52))),
        };
        let has_keys = operator.starts_with("equals");
        let made = |id: u128| {
            let most = if id <= DEAR { COST_MAX } else { CHEAP_COST_MAX };
            let tests = (0..(most - 1) / cost).map(|number| test(id, number));
            let made = dear(id, &tests.collect::<Vec<_>>(), has_keys);
            assert!(made.definition.cost() <= most && made.definition.cost() + cost > most);
            assert_eq!(made.definition.is_dear(), id <= DEAR);
            made
        };
        let set = RuleSet::new((1..=500).map(made));
        let json = json!({"event_type": "tool_call", "metadata": {"f": value}}).to_string();
        let started = Instant::now();
        let found = set.matching(&view(&json)).len();
        let took = started.elapsed();
        assert_eq!(found, if has_keys { 500 } else { 0 }, "{operator}");
        println!("500 rules of `{operator}` took {took:?} for one event");
        assert!(took < WORST_MAX, "{operator}: {took:?}");
    }
}

#[test]
fn only_so_many_elements_of_a_list_are_looked_at() {
    let list = |length: usize| {
        let mut elements = vec![json!(0); length - 1];
        elements.push(json!(1));
        json!({"metadata": {"list": elements}})
    };
    let source = json!({"metadata": {"list": [1]}});
    assert!(matched(source.clone(), &list(256)));
    assert!(!matched(source, &list(257)));
}
