//! Alerts against a model that remembers everything, over random times and restarts.

use std::{collections::HashMap, time::Duration};

use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::{
    event::EventView,
    rule::{
        Pattern,
        definition::{GroupField, Suppress, Threshold},
    },
};

const START: Timestamp = Timestamp::from_unix_millis(1_794_735_000_000);

fn rule(threshold: Option<(u32, u32)>, suppress: Option<u32>) -> Definition {
    let by_agent = || vec![GroupField(String::from("agent_id"))];
    let pattern = Pattern::parse(json!({})).expect("valid");
    Definition {
        threshold: threshold.map(|(count, window_s)| Threshold {
            count,
            window_s,
            group_by: by_agent(),
        }),
        suppress: suppress.map(|for_s| Suppress {
            for_s,
            group_by: by_agent(),
        }),
        ..Definition::plain("r", pattern, "https://example.com")
    }
}

fn groups(rule: &Definition, agent: u16) -> Groups {
    let event = format!(r#"{{"agent_id":"{agent}"}}"#);
    Groups::of(rule, &EventView::parse(&event).expect("an event"))
}

fn hit(number: usize, at: Timestamp) -> Match {
    Match {
        event: EventId::from_uuid(Uuid::from_u128(number as u128)),
        message: number as u64,
        at,
    }
}

/// The same, remembering everything and computing anew each time.
#[derive(Default)]
struct Model {
    clock: Timestamp,
    counted: HashMap<u16, Vec<Timestamp>>,
    /// When the last alert of a group was, and how many were kept back since.
    alerted: HashMap<u16, (Timestamp, u32)>,
}

impl Model {
    fn step(&mut self, rule: &Definition, agent: u16, at: Timestamp) -> (Fate, u32) {
        // A clock that goes back stands still.
        self.clock = self.clock.max(at);
        let at = self.clock;
        if let Some(threshold) = &rule.threshold {
            let counted = self.counted.entry(agent).or_default();
            let window = Duration::from_secs(threshold.window_s.into());
            let in_window = counted.iter().filter(|time| time.plus(window) > at).count();
            if in_window + 1 < threshold.count as usize {
                counted.push(at);
                return (Fate::Counted, 0);
            }
            counted.clear();
        }
        let Some(suppress) = &rule.suppress else {
            return (Fate::Alert, 0);
        };
        let period = Duration::from_secs(suppress.for_s.into());
        match self.alerted.get_mut(&agent) {
            Some((since, suppressed)) if at < since.plus(period) => {
                *suppressed += 1;
                (Fate::Suppressed, 0)
            }
            last => {
                let told = last.map_or(0, |(_, suppressed)| *suppressed);
                self.alerted.insert(agent, (at, 0));
                (Fate::Alert, told)
            }
        }
    }

    fn end(&mut self, rule: &Definition, now: Timestamp) -> u32 {
        let Some(suppress) = &rule.suppress else {
            return 0;
        };
        let period = Duration::from_secs(suppress.for_s.into());
        let is_over = |since: &Timestamp| since.plus(period) <= now;
        let over = self.alerted.extract_if(|_, (since, _)| is_over(since));
        over.map(|(_, (_, suppressed))| suppressed).sum()
    }
}

/// What happens to a rule.
#[derive(Clone, Debug)]
enum Act {
    /// So many milliseconds later (or earlier: clocks go back) an agent matches.
    Hit { agent: u16, after_ms: i64 },
    /// Whoever judges looks at the clock.
    End,
    /// Another process takes over, from what is on record.
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        20 => (0u16..3, -300i64..4_000).prop_map(|(agent, after_ms)| Act::Hit { agent, after_ms }),
        2 => Just(Act::End),
        2 => Just(Act::Restart),
    ]
}

/// What is on record of a rule.
enum Fact {
    Judged(Groups, Match, Fate),
    Ended(Group),
}

fn restored(rule: &Definition, facts: &[Fact]) -> Pace {
    let mut pace = Pace::default();
    for fact in facts {
        match fact {
            Fact::Judged(groups, hit, fate) => pace.restore(rule, groups, *hit, *fate),
            Fact::Ended(group) => pace.ended(group),
        }
    }
    pace
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn alerts_come_when_the_model_says_whoever_judges(
        threshold in prop::option::of((2u32..5, 1u32..12)),
        suppress in prop::option::of(1u32..12),
        acts in prop::collection::vec(act(), 0..120),
    ) {
        let rule = rule(threshold, suppress);
        let (mut pace, mut model, mut facts) = (Pace::default(), Model::default(), Vec::new());
        let mut now = START;
        for (number, act) in acts.into_iter().enumerate() {
            match act {
                Act::Hit { agent, after_ms } => {
                    now = Timestamp::from_unix_millis(now.unix_millis() + after_ms);
                    let (groups, hit) = (groups(&rule, agent), hit(number, now));
                    let step = pace.step(&rule, &groups, hit, Room::MOST);
                    let told: u32 = step.ended.iter().map(|ended| ended.suppressed).sum();
                    prop_assert_eq!((step.fate, told), model.step(&rule, agent, now));
                    prop_assert!(!step.overflowed);
                    facts.extend(step.ended.into_iter().map(|ended| Fact::Ended(ended.group)));
                    facts.push(Fact::Judged(groups, step.hit, step.fate));
                }
                Act::End => {
                    let ended = pace.end(now, 100);
                    let told: u32 = ended.iter().map(|ended| ended.suppressed).sum();
                    prop_assert_eq!(told, model.end(&rule, now));
                    facts.extend(ended.into_iter().map(|ended| Fact::Ended(ended.group)));
                }
                Act::Restart => pace = restored(&rule, &facts),
            }
            prop_assert!(pace.counts.is_consistent());
        }
    }
}

#[test]
fn the_fifth_within_the_window_is_the_alert_and_the_next_takes_five_more() {
    let (rule, mut pace) = (rule(Some((5, 10)), None), Pace::default());
    let fates: Vec<Fate> = (0..12u64)
        .map(|second| {
            let at = START.plus(Duration::from_secs(second));
            pace.step(&rule, &groups(&rule, 1), hit(1, at), Room::MOST)
                .fate
        })
        .collect();
    let alerts: Vec<usize> = (0..12)
        .filter(|index| fates[*index] == Fate::Alert)
        .collect();
    assert_eq!(alerts, [4, 9]);
}

#[test]
fn a_match_exactly_the_window_ago_no_longer_counts() {
    let (rule, mut pace) = (rule(Some((2, 10)), None), Pace::default());
    let mut at_ms = |millis| {
        let at = START.plus(Duration::from_millis(millis));
        pace.step(&rule, &groups(&rule, 1), hit(1, at), Room::MOST)
            .fate
    };
    assert_eq!(at_ms(0), Fate::Counted);
    assert_eq!(at_ms(10_000), Fate::Counted);
    assert_eq!(at_ms(19_999), Fate::Alert);
}

#[test]
fn the_end_of_a_period_says_how_many_were_kept_back_and_which_was_the_last() {
    let (rule, mut pace) = (rule(None, Some(60)), Pace::default());
    for number in 0..4 {
        pace.step(&rule, &groups(&rule, 1), hit(number, START), Room::MOST);
    }
    assert_eq!(pace.next_end(), Some(START.plus(Duration::from_secs(60))));
    assert_eq!(pace.end(START.plus(Duration::from_secs(59)), 100), []);
    let ended = pace.end(START.plus(Duration::from_secs(60)), 100);
    assert_eq!((ended[0].suppressed, ended[0].last.message), (3, 3));
    assert_eq!(pace.next_end(), None);
}

#[test]
fn a_rule_remembers_so_many_groups_and_says_when_it_forgot_one() {
    let both = rule(Some((2, 3_600)), None);
    let mut pace = Pace::default();
    let agents = u16::try_from(Room::MOST.groups).expect("fits");
    for agent in 0..agents {
        assert!(
            !pace
                .step(&both, &groups(&both, agent), hit(1, START), Room::MOST)
                .overflowed
        );
    }
    assert!(
        pace.step(&both, &groups(&both, agents), hit(1, START), Room::MOST)
            .overflowed
    );
    let kept = rule(None, Some(3_600));
    let mut pace = Pace::default();
    for agent in 0..agents {
        pace.step(&kept, &groups(&kept, agent), hit(1, START), Room::MOST);
        pace.step(&kept, &groups(&kept, agent), hit(2, START), Room::MOST);
    }
    let step = pace.step(&kept, &groups(&kept, agents), hit(3, START), Room::MOST);
    // What was kept back for the one that had to go is told now, not never.
    assert!(step.overflowed);
    assert_eq!((step.ended.len(), step.ended[0].suppressed), (1, 1));
}

#[test]
fn groups_are_the_values_of_their_fields() {
    let fields = ["agent_id", "metadata.region.name", "latency_ms", "resource"]
        .map(|name| GroupField(name.to_owned()));
    let group = |event: &str| Group::of(&fields, &EventView::parse(event).expect("an event"));
    let one = group(r#"{"agent_id":"a","metadata":{"region":{"name":"eu"}},"latency_ms":5}"#);
    assert_eq!(one.as_str(), r#"["a","eu",5,null]"#);
    let swapped = |members: &str| {
        let region = [GroupField("metadata.region".to_owned())];
        let event = format!(r#"{{"metadata":{{"region":{{{members}}}}}}}"#);
        Group::of(&region, &EventView::parse(&event).expect("an event"))
    };
    assert_eq!(swapped(r#""b":1,"a":2"#), swapped(r#""a":2,"b":1"#));
    let long = "x".repeat(300);
    let other = group(&format!(r#"{{"agent_id":"{long}"}}"#));
    assert!(other.as_str().starts_with("sha256:"), "{}", other.as_str());
}
