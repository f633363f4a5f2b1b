//! What clients send, and how rules change: few kinds of each, so that they often meet.

use std::{
    rc::Rc,
    sync::{Arc, LazyLock},
    time::Duration,
};

use domain::{
    EventId, OrgId, RuleId, Timestamp,
    rule::{
        Definition, Pattern, Rule, RuleSet,
        definition::{GroupField, Suppress, Threshold},
    },
};
use journal::record::{self, EventRecord};
use serde_json::json;
use testkit::Dice;
use uuid::Uuid;

use super::journal::{EventMessage, Journal};

pub(super) const BEGIN: Timestamp = Timestamp::from_unix_millis(1_794_735_000_000);
const RULES_MAX: usize = 6;

/// What an event says: its type and its agent.
static TEXTS: LazyLock<Vec<Arc<str>>> = LazyLock::new(|| {
    let agents = ["anna", "bert"];
    let types = ["login", "tool_call", "refund"];
    let events = types
        .into_iter()
        .flat_map(|kind| agents.map(|agent| (kind, agent)));
    let text = |(kind, agent)| json!({ "event_type": kind, "agent_id": agent }).to_string();
    events.map(|event| text(event).into()).collect()
});

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let sources = [
        json!({ "event_type": ["login"] }),
        json!({ "event_type": ["login", "refund"] }),
        json!({ "event_type": ["tool_call"], "agent_id": ["anna"] }),
        json!({ "agent_id": ["bert"] }),
        json!({}),
    ];
    let parsed = |source| Pattern::parse(source).expect("a pattern");
    sources.into_iter().map(parsed).collect()
});

/// An event, as a message of the log has it.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) id: EventId,
    pub(super) received_at: Timestamp,
    pub(super) json: Arc<str>,
}

/// The rules at a time.
pub(super) struct Rules {
    pub(super) set: Arc<RuleSet>,
    pub(super) all: Vec<Arc<Rule>>,
}

pub(super) const ORG: OrgId = OrgId::from_uuid(Uuid::from_u128(1));

/// A client sends some events, and some of them not for the first time.
pub(super) fn send_events(journal: &mut Journal) {
    let many = if journal.dice.one_in(30) { 50u8 } else { 3 };
    let events: Vec<Event> = (0..=journal.dice.below(many))
        .map(|number| event(journal, number))
        .collect();
    let record = |event: &'_ Event| record::message(&event.record());
    // Frames follow each other behind one byte of version.
    let mut payload = vec![record::VERSION];
    for event in &events {
        payload.extend_from_slice(&record(event)[1..]);
    }
    journal.events.push(Rc::new(EventMessage {
        payload: payload.into(),
        events,
        accepted_at: journal.now,
        rules: journal.rules_version(),
    }));
}

fn event(journal: &mut Journal, number: u8) -> Event {
    let received_at = received_at(journal);
    let Journal { dice, events, .. } = journal;
    if dice.one_in(5) && !events.is_empty() {
        let message = &events[dice.place(events.len())];
        let again = &message.events[0];
        if again.id.is_derived() {
            let again = again.clone();
            return Event {
                received_at,
                ..again
            };
        }
    }
    let json = TEXTS[dice.place(TEXTS.len())].clone();
    let name = format!("{}-{number}", events.len());
    let id = if dice.one_in(3) {
        EventId::from_client(ORG, &[&name], received_at)
    } else {
        let mut random = [number; 10];
        random[..8].copy_from_slice(&(events.len() as u64).to_be_bytes());
        EventId::new(received_at, random)
    };
    Event {
        id,
        received_at,
        json,
    }
}

/// The clocks of those who receive events differ, and one may be wrong.
fn received_at(journal: &mut Journal) -> Timestamp {
    let Journal { dice, now, .. } = journal;
    if dice.one_in(100) {
        return now.plus(Duration::from_secs(3_600));
    }
    let differs = Duration::from_millis(dice.below(6_000));
    now.plus(differs).minus(Duration::from_secs(3))
}

impl Event {
    fn record(&self) -> EventRecord<'_> {
        EventRecord {
            org: ORG,
            id: self.id,
            received_at: self.received_at,
            json: &self.json,
        }
    }
}

pub(super) fn first_rules(dice: &mut Dice) -> Rules {
    let rules = (1..=2).map(|number| {
        let definition = definition(dice, BEGIN);
        Arc::new(Rule::new(rule_id(number), ORG, definition, BEGIN))
    });
    let all: Vec<Arc<Rule>> = rules.collect();
    Rules {
        set: Arc::new(RuleSet::new(all.iter().map(Arc::clone))),
        all,
    }
}

/// A rule is made, changed or deleted.
pub(super) fn change_rules(journal: &mut Journal) {
    let Journal {
        dice, rules, now, ..
    } = journal;
    let number = rules.len() as u128 + 2;
    let last = rules.last().expect("there are rules from the beginning");
    let mut all = last.all.clone();
    let place = dice.place(RULES_MAX);
    let change = match all.get(place).map(Arc::clone) {
        None => {
            let definition = definition(dice, *now);
            let rule = Arc::new(Rule::new(rule_id(number), ORG, definition, *now));
            all.push(Arc::clone(&rule));
            (rule.id, Some(rule))
        }
        Some(rule) if dice.one_in(4) => {
            all.remove(place);
            (rule.id, None)
        }
        Some(rule) => {
            let changed = Arc::new(changed(dice, &rule, *now));
            all[place] = Arc::clone(&changed);
            (rule.id, Some(changed))
        }
    };
    let set = Arc::new(last.set.with([change]));
    rules.push(Rules { set, all });
}

/// As the API changes a rule.
fn changed(dice: &mut Dice, rule: &Rule, now: Timestamp) -> Rule {
    let mut changed = rule.clone();
    changed.version += 1;
    changed.updated_at = now;
    match dice.below(4u8) {
        0 => changed.definition.enabled ^= true,
        1 => changed.definition.shadow ^= true,
        2 => changed.definition.name.push('!'),
        _ => changed.definition = definition(dice, now),
    }
    if !changed.definition.counts_like(&rule.definition) {
        changed.counts_since = changed.version;
    }
    changed
}

fn definition(dice: &mut Dice, now: Timestamp) -> Definition {
    let pattern = PATTERNS[dice.place(PATTERNS.len())].clone();
    let mut definition = Definition::plain("rule", pattern, "https://example.com");
    let by_agent = || vec![GroupField("agent_id".to_owned())];
    if dice.one_in(2) {
        definition.threshold = Some(Threshold {
            count: 2 + dice.below(3u32),
            window_s: dice.of(&[2, 10, 60]),
            group_by: if dice.one_in(2) {
                by_agent()
            } else {
                Vec::new()
            },
        });
    }
    if dice.one_in(2) {
        definition.suppress = Some(Suppress {
            for_s: dice.of(&[1, 5, 60]),
            group_by: if dice.one_in(2) {
                by_agent()
            } else {
                Vec::new()
            },
        });
    }
    definition.snoozed_until = dice.one_in(8).then(|| now.plus(Duration::from_secs(5)));
    definition
}

fn rule_id(number: u128) -> RuleId {
    RuleId::from_uuid(Uuid::from_u128(number))
}
