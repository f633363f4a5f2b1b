//! What a rule would have done: it is put before stored events, day by day, and what comes of it is counted.
//!
//! Days come oldest first; the events of a day come newest first, as the trail is read. So what has a pace
//! (thresholds, suppression) is judged once a day is whole, from its matches in the order of their own time.
//! A rule that is in force counts by the time at which events arrive, so where those came late or out of
//! order it may have alerted a little otherwise.

use std::{collections::VecDeque, mem, sync::Arc};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{
    Definition, Rule, RuleSet,
    throttle::{Fate, Group, Groups, Match, Pace, Room},
};
use crate::{Day, EventId, event::EventView};

/// How many matching events are shown.
pub const SAMPLES_MAX: usize = 10;
/// How many matches of a day are remembered until it is whole, for a rule that has a pace: 48 bytes each.
pub const PACED_PER_DAY_MAX: usize = 500_000;

/// A rule, and what came of it so far.
#[derive(Debug)]
pub struct Backtest {
    definition: Definition,
    /// The rule alone: the index reads no more of an event than the rule looks at.
    alone: RuleSet,
    counts: Counts,
    by_day: Vec<DayCounts>,
    /// Newest first.
    samples: VecDeque<String>,
    pace: Pace,
    today: Today,
    /// [`PACED_PER_DAY_MAX`]; less in tests.
    paced_max: usize,
    /// Days that had more matches than are remembered.
    overflowed: Vec<Day>,
    /// [`Room::MOST`]; less in tests.
    room: Room,
    /// There were more groups at a time than are remembered.
    forgot_groups: bool,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Events that the rule was put before.
    pub scanned: u64,
    pub matched: u64,
    /// Deliveries that there would have been.
    pub alerts: u64,
    /// Alerts that would have been kept back.
    pub suppressed: u64,
}

/// A day on which something matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DayCounts {
    /// `2026-11-15`.
    pub day: String,
    pub matched: u64,
    pub alerts: u64,
}

/// The day that is being looked at.
#[derive(Debug, Default)]
struct Today {
    matched: u64,
    /// The newest, newest first.
    samples: Vec<String>,
    /// Those that the pace of the rule is asked about, newest first.
    paced: Vec<Paced>,
}

/// A match whose pace is asked about later. Its groups are known by hashes, so that each takes the same
/// memory, however long the fields.
#[derive(Clone, Copy, Debug)]
struct Paced {
    event: EventId,
    threshold: GroupHash,
    suppress: GroupHash,
}

type GroupHash = [u8; 16];

impl Backtest {
    /// The rule is tried as if it was enabled.
    pub fn new(mut rule: Rule) -> Self {
        rule.definition.enabled = true;
        Self {
            definition: rule.definition.clone(),
            alone: RuleSet::new([Arc::new(rule)]),
            counts: Counts::default(),
            by_day: Vec::new(),
            samples: VecDeque::new(),
            pace: Pace::default(),
            today: Today::default(),
            paced_max: PACED_PER_DAY_MAX,
            overflowed: Vec::new(),
            room: Room::MOST,
            forgot_groups: false,
        }
    }

    /// Puts the rule before an event as stored.
    pub fn look_at(&mut self, json: &str) {
        self.counts.scanned += 1;
        // What cannot be read was counted by the index, and no rule ever saw it.
        let Ok(event) = EventView::parse(json) else {
            return;
        };
        if self.alone.matching(&event).is_empty() {
            return;
        }
        self.counts.matched += 1;
        self.today.matched += 1;
        if self.today.samples.len() < SAMPLES_MAX {
            self.today.samples.push(json.to_owned());
        }
        if self.definition.has_pace() && self.today.paced.len() < self.paced_max {
            let paced = Paced::of(&self.definition, &event);
            self.today.paced.extend(paced);
        }
    }

    /// There is no more of this day.
    pub fn end_of(&mut self, day: Day) {
        let today = mem::take(&mut self.today);
        if today.matched == 0 {
            return;
        }
        let alerts = if self.definition.has_pace() {
            if today.matched > today.paced.len() as u64 {
                self.overflowed.push(day);
            }
            self.alerts_among(today.paced)
        } else {
            today.matched
        };
        self.counts.alerts += alerts;
        self.by_day.push(DayCounts {
            day: day.to_string(),
            matched: today.matched,
            alerts,
        });
        for json in today.samples.into_iter().rev() {
            self.samples.push_front(json);
        }
        self.samples.truncate(SAMPLES_MAX);
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The days on which something matched, oldest first.
    pub fn by_day(&self) -> &[DayCounts] {
        &self.by_day
    }

    /// The newest events that matched, newest first.
    pub fn samples(&self) -> impl Iterator<Item = &str> {
        self.samples.iter().map(String::as_str)
    }

    /// Why `alerts` and `suppressed` are not of everything that matched, if they are not.
    pub fn incomplete_because(&self) -> Option<String> {
        let reasons = [self.too_many_matches(), self.too_many_groups()];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        (!reasons.is_empty()).then(|| reasons.join(" "))
    }

    fn too_many_matches(&self) -> Option<String> {
        let first = self.overflowed.first()?;
        let others = match self.overflowed.len() {
            1 => String::new(),
            days => format!(" and {} other days", days - 1),
        };
        Some(format!(
            "More than {} events matched on {first}{others}; how the threshold and the suppression treat the earlier \
             ones of a day is not counted.",
            self.paced_max
        ))
    }

    fn too_many_groups(&self) -> Option<String> {
        let Room { groups, matches } = self.room;
        self.forgot_groups.then(|| {
            format!(
                "There was more to remember at a time than {groups} groups and {matches} matches; the oldest were \
                 forgotten, as they are when the rule is in force."
            )
        })
    }

    /// How many of a day's matches are alerts; those that are kept back are counted too.
    fn alerts_among(&mut self, newest_first: Vec<Paced>) -> u64 {
        let mut alerts = 0;
        for paced in newest_first.into_iter().rev() {
            let groups = paced.groups(&self.definition);
            let hit = paced.hit();
            // What is over is forgotten; nobody is told of it here.
            self.pace.end(hit.at, usize::MAX);
            let step = self.pace.step(&self.definition, &groups, hit, self.room);
            self.forgot_groups |= step.overflowed;
            match step.fate {
                Fate::Counted => {}
                Fate::Alert => alerts += 1,
                Fate::Suppressed => self.counts.suppressed += 1,
            }
        }
        alerts
    }
}

impl Paced {
    /// `None` if the event has no id, which no stored event lacks.
    fn of(rule: &Definition, event: &EventView<'_>) -> Option<Self> {
        let groups = Groups::of(rule, event);
        Some(Self {
            event: event.text("id")?.parse().ok()?,
            threshold: hash(groups.threshold.as_ref()),
            suppress: hash(groups.suppress.as_ref()),
        })
    }

    fn hit(self) -> Match {
        Match {
            event: self.event,
            message: 0,
            at: self.event.time(),
        }
    }

    fn groups(self, rule: &Definition) -> Groups {
        let group = |hash: GroupHash| Group::from(hex::encode(hash));
        Groups {
            threshold: rule.threshold.as_ref().map(|_| group(self.threshold)),
            suppress: rule.suppress.as_ref().map(|_| group(self.suppress)),
        }
    }
}

fn hash(group: Option<&Group>) -> GroupHash {
    let digest = group.map(|group| Sha256::digest(group.as_str()));
    let short = digest.and_then(|digest| digest.first_chunk().copied());
    short.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::{
        OrgId, RuleId, Timestamp,
        rule::{
            Definition, Pattern,
            definition::{GroupField, Suppress, Threshold},
        },
    };

    /// A minute before midnight.
    const LATE: Timestamp = Timestamp::from_unix_millis(1_763_251_140_000);

    fn backtest(change: impl FnOnce(&mut Definition)) -> Backtest {
        let pattern = Pattern::parse(json!({"result": ["denied"]})).expect("valid");
        let mut definition = Definition::plain("r", pattern, "https://example.com");
        change(&mut definition);
        let (rule, org) = (RuleId::new(LATE, [1; 10]), OrgId::new(LATE, [1; 10]));
        Backtest::new(Rule::new(rule, org, definition, LATE))
    }

    /// Shows the rule denied calls of these agents at these seconds, day by day as the trail is read.
    fn look_at(backtest: &mut Backtest, events: &[(u64, &str)]) {
        let mut events: Vec<(Timestamp, &str)> = events
            .iter()
            .map(|(second, agent)| (LATE.plus(Duration::from_secs(*second)), *agent))
            .collect();
        events.sort_unstable_by(|one, other| other.cmp(one));
        let mut days: Vec<Day> = events.iter().map(|(at, _)| Day::of(*at)).collect();
        days.dedup();
        for day in days.into_iter().rev() {
            for (at, agent) in events.iter().filter(|(at, _)| Day::of(*at) == day) {
                let id = EventId::new(*at, [2; 10]);
                let event = json!({"id": id.to_string(), "agent_id": agent, "result": "denied"});
                backtest.look_at(&event.to_string());
            }
            backtest.end_of(day);
        }
    }

    fn agent() -> Vec<GroupField> {
        vec![GroupField("agent_id".to_owned())]
    }

    #[test]
    fn without_a_pace_every_match_is_an_alert_and_the_newest_are_shown() {
        let mut backtest = backtest(|_| {});
        let events: Vec<(u64, String)> = (0..24).map(|hour| (hour * 5, hour.to_string())).collect();
        let events: Vec<(u64, &str)> = events.iter().map(|(at, who)| (*at, who.as_str())).collect();
        look_at(&mut backtest, &events);
        backtest.look_at(r#"{"result":"success"}"#);
        backtest.look_at("not an event");
        let counts = backtest.counts();
        assert_eq!(
            (counts.scanned, counts.matched, counts.alerts),
            (26, 24, 24)
        );
        let days: Vec<(&str, u64)> = backtest
            .by_day()
            .iter()
            .map(|day| (day.day.as_str(), day.matched))
            .collect();
        assert_eq!(days, [("2025-11-15", 12), ("2025-11-16", 12)]);
        let shown: Vec<u64> = backtest
            .samples()
            .map(|json| serde_json::from_str::<serde_json::Value>(json).expect("JSON"))
            .map(|event| {
                event["agent_id"]
                    .as_str()
                    .expect("a text")
                    .parse()
                    .expect("a number")
            })
            .collect();
        assert_eq!(shown, (14..24).rev().collect::<Vec<u64>>());
        assert_eq!(backtest.incomplete_because(), None);
    }

    #[test]
    fn a_threshold_counts_over_midnight_and_apart_for_each_group() {
        let mut backtest = backtest(|rule| {
            rule.threshold = Some(Threshold {
                count: 3,
                window_s: 60,
                group_by: agent(),
            });
        });
        // Three of `a` within a minute, the third after midnight; of `b` never three within one.
        let events = [
            (40, "a"),
            (50, "b"),
            (55, "a"),
            (65, "a"),
            (100, "b"),
            (111, "b"),
        ];
        look_at(&mut backtest, &events);
        let alerts: Vec<u64> = backtest.by_day().iter().map(|day| day.alerts).collect();
        assert_eq!(alerts, [0, 1]);
        assert_eq!(backtest.counts().matched, 6);
    }

    #[test]
    fn what_is_suppressed_is_counted_and_is_no_alert() {
        let mut backtest = backtest(|rule| {
            rule.suppress = Some(Suppress {
                for_s: 30,
                group_by: Vec::new(),
            });
        });
        look_at(
            &mut backtest,
            &[(0, "a"), (10, "b"), (29, "a"), (30, "a"), (65, "a")],
        );
        let counts = backtest.counts();
        assert_eq!((counts.alerts, counts.suppressed), (3, 2));
    }

    #[test]
    fn what_is_over_is_forgotten_and_too_many_groups_at_a_time_are_said() {
        let suppress = |for_s| {
            backtest(|rule| {
                let group_by = agent();
                rule.suppress = Some(Suppress { for_s, group_by });
            })
        };
        let agents: Vec<String> = (0..50).map(|agent| agent.to_string()).collect();
        let events: Vec<(u64, &str)> = (0..).zip(agents.iter().map(String::as_str)).collect();
        let mut short = suppress(1);
        short.room.groups = 10;
        look_at(&mut short, &events);
        assert!(short.pace.size().groups <= 2, "{:?}", short.pace.size());
        assert_eq!(short.incomplete_because(), None);
        let mut long = suppress(3_600);
        long.room.groups = 10;
        look_at(&mut long, &events);
        let reason = long.incomplete_because().expect("it is incomplete");
        assert!(reason.contains("10 groups"), "{reason}");
    }

    #[test]
    fn more_matches_than_are_remembered_are_said() {
        let mut backtest = backtest(|rule| {
            rule.threshold = Some(Threshold {
                count: 2,
                window_s: 1,
                group_by: Vec::new(),
            });
        });
        let id = EventId::new(LATE, [2; 10]);
        let event = json!({"id": id.to_string(), "result": "denied"}).to_string();
        backtest.paced_max = 100;
        for _ in 0..=100 {
            backtest.look_at(&event);
        }
        backtest.end_of(Day::of(LATE));
        assert_eq!(backtest.counts().matched, 101);
        assert_eq!(backtest.counts().alerts, 50);
        let reason = backtest.incomplete_because().expect("it is incomplete");
        assert!(reason.contains("2025-11-15"), "{reason}");
    }
}
