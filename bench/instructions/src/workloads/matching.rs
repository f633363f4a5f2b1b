//! Events as the matcher puts them before an organization's rules: read as far as rules ask, then looked up in the index.

use std::{hint::black_box, sync::Arc};

use domain::{
    RuleId,
    event::EventView,
    rule::{Definition, Pattern, Rule, RuleSet},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{NOW, Work, event, org};

pub(super) const EVENTS: u64 = 300;
const RULES: u64 = 1_000;

pub(super) fn prepare() -> Work {
    let rules = RuleSet::new((0..RULES).map(rule));
    let events: Vec<String> = (0..EVENTS).map(event).collect();
    let matches = |json: &String| {
        let event = EventView::parse(json).expect("an event written by us");
        rules.matching(&event).len()
    };
    assert!(events.iter().map(matches).sum::<usize>() > 0, "some match");
    Box::new(move || {
        for json in &events {
            let event = EventView::parse(json).expect("an event written by us");
            black_box(rules.matching(&event));
        }
    })
}

/// Of every kind that patterns have: some are indexed by their agent, some by their action, some by nothing.
fn rule(number: u64) -> Arc<Rule> {
    let agent = format!("agent-{number:04}");
    let pattern = match number % 10 {
        0 => json!({"action": [{"prefix": format!("area{number}.")}]}),
        1 => json!({"action": [{"suffix": format!(".verb{number}")}], "result": ["denied"]}),
        2 => json!({"agent_id": [agent], "result": [{"anything-but": ["success"]}]}),
        3 => {
            json!({"agent_id": [agent], "latency_ms": [{"numeric": [">=", number, "<", number + 500]}]})
        }
        4 => json!({"agent_id": [agent], "metadata": {"region": ["eu-central-1"]}}),
        _ => json!({"agent_id": [agent], "event_type": ["tool_call"], "result": ["denied"]}),
    };
    Arc::new(Rule::new(
        RuleId::from_uuid(Uuid::from_u128(u128::from(number))),
        org(),
        definition(pattern),
        NOW,
    ))
}

fn definition(pattern: Value) -> Definition {
    let pattern = Pattern::parse(pattern).expect("a pattern written by us");
    Definition::plain("counted", pattern, "https://example.com/hook")
}
