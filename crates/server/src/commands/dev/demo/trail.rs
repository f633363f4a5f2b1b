//! The trail of the demo: what the cast did in the last 24 hours, minute by minute.
//!
//! A day has its busy hours, and this one an incident: for three quarters of an hour, some hours ago, two teams cannot
//! reach what they work with, try more often, and fail.

use std::{ops::Range, time::Duration};

use domain::Timestamp;
use serde_json::{Value, json};

use super::{
    cast::{CHANNELS, MODELS, REGIONS, TEAMS, Team, Tool, USUAL_ERRORS},
    dice::Dice,
};

const MINUTES: u32 = 24 * 60;
const DAY: Duration = Duration::from_hours(24);
const MINUTE_MS: u64 = 60_000;
/// The minutes of the incident, counted from the beginning.
const INCIDENT: Range<u32> = 1_020..1_065;
/// Agents do some five things in a row about one matter.
const EVENTS_PER_TRACE: u64 = 5;
/// How many steps before it each step of a trace has the one that it is a part of: two parts, each with a part.
const PARENT_BACK: [Option<u64>; 5] = [None, Some(1), Some(1), Some(3), Some(1)];

pub(super) struct Trail {
    begins: Timestamp,
    /// The number of the first event of each minute, and behind the last the number of all.
    minutes: Vec<u32>,
}

impl Trail {
    pub(super) fn new(events: u32, now: Timestamp) -> Self {
        let whole: u64 = (0..MINUTES).map(busyness).sum();
        let mut before = 0;
        let mut minutes = vec![0];
        for minute in 0..MINUTES {
            before += busyness(minute);
            let number = u64::from(events) * before / whole;
            minutes.push(u32::try_from(number).expect("at most as many as there are"));
        }
        Self {
            begins: now.minus(DAY),
            minutes,
        }
    }

    /// These events, in the order in which they happened.
    pub(super) fn events(&self, numbers: Range<u32>) -> impl Iterator<Item = Value> {
        numbers.map(|number| self.event(number))
    }

    fn event(&self, number: u32) -> Value {
        let after = self.minutes.partition_point(|first| *first <= number);
        let minute = after - 1;
        let (first, next) = (self.minutes[minute], self.minutes[after]);
        let place = u64::from(number - first) * MINUTE_MS / u64::from(next - first);
        let minute = u32::try_from(minute).expect("a day has few minutes");
        let at = Duration::from_millis(u64::from(minute) * MINUTE_MS + place);
        let scene = Scene {
            minute,
            number: u64::from(number),
            dice: Dice::of(u64::from(number)),
            trace: u64::from(number) / EVENTS_PER_TRACE,
        };
        scene.event(self.begins.plus(at))
    }
}

/// How much goes on in a minute: twice as much by day as by night, and more in trouble.
fn busyness(minute: u32) -> u64 {
    let from_noon = minute.abs_diff(MINUTES / 2);
    let usual = u64::from(100 + (MINUTES / 2 - from_noon) * 100 / (MINUTES / 2));
    if INCIDENT.contains(&minute) {
        usual * 5 / 2
    } else {
        usual
    }
}

fn span_id(number: u64) -> String {
    format!("{:016x}", Dice::of(number.wrapping_add(1 << 41)).roll())
}

/// What one event is made of.
struct Scene {
    minute: u32,
    number: u64,
    dice: Dice,
    /// Which matter it is about.
    trace: u64,
}

impl Scene {
    fn event(mut self, at: Timestamp) -> Value {
        // One agent works on one matter.
        let mut matter = Dice::of(self.trace.wrapping_add(1 << 40));
        let in_trouble = INCIDENT.contains(&self.minute);
        // Who cannot do what it should tries again and again.
        let only_hit = in_trouble && matter.permille(600);
        let at_work = TEAMS.iter().filter(|team| team.is_hit || !only_hit);
        let team = matter.pick(&at_work.collect::<Vec<_>>());
        let agent = matter.pick(team.agents);
        let mut event = match self.dice.below(100) {
            0..=54 => self.tool_call(team, in_trouble && team.is_hit),
            55..=84 => self.model_call(),
            _ => self.message(),
        };
        let trace = format!("{:016x}{:016x}", matter.roll(), matter.roll());
        let common = json!({
            "agent_id": agent,
            "occurred_at": at,
            "session_id": format!("{agent}-{}", self.minute / 45),
            "trace_id": trace,
            "span_id": span_id(self.number),
        });
        let step = self.number % EVENTS_PER_TRACE;
        if let Some(back) = PARENT_BACK[usize::try_from(step).expect("few steps")] {
            event["metadata"]["parent_span_id"] = span_id(self.number - back).into();
        }
        event["metadata"]["team"] = team.name.into();
        event["metadata"]["region"] = matter.pick(&REGIONS).into();
        if let (Some(event), Value::Object(common)) = (event.as_object_mut(), common) {
            event.extend(common);
        }
        event
    }

    fn tool_call(&mut self, team: &Team, in_trouble: bool) -> Value {
        let tool = self.dice.pick(team.tools);
        let number = 1_000 + self.dice.below(9_000);
        let mut event = json!({
            "event_type": "tool_call",
            "action": tool.action,
            "resource": format!("{}:{number}", tool.about),
            "metadata": {"customer": format!("cus_{:04}", self.dice.mostly_small(2_000))},
        });
        if tool.cents_max > 0 {
            event["metadata"]["amount"] = (100 + self.dice.mostly_small(tool.cents_max)).into();
            event["metadata"]["currency"] = "EUR".into();
        }
        self.end_tool_call(&mut event, &tool, in_trouble);
        event
    }

    fn end_tool_call(&mut self, event: &mut Value, tool: &Tool, in_trouble: bool) {
        let failing = if in_trouble { 380 } else { 16 };
        if self.dice.permille(tool.denied) {
            event["result"] = "denied".into();
            event["severity"] = self.dice.pick(&["medium", "medium", "high"]).into();
            event["latency_ms"] = (1 + self.dice.below(6)).into();
        } else if self.dice.permille(failing) {
            let code = if in_trouble {
                "UPSTREAM_TIMEOUT"
            } else {
                self.dice.pick(&USUAL_ERRORS)
            };
            let severe = in_trouble && self.dice.permille(60);
            event["result"] = "error".into();
            event["error_code"] = code.into();
            event["severity"] = if severe { "critical" } else { "low" }.into();
            let slow = if in_trouble { 9_000 } else { 400 };
            event["latency_ms"] = (slow + self.dice.below(slow)).into();
        } else {
            event["result"] = "success".into();
            event["severity"] = "info".into();
            event["latency_ms"] = (8 + self.dice.mostly_small(1_500)).into();
        }
    }

    fn model_call(&mut self) -> Value {
        let failed = self.dice.permille(6);
        let mut event = json!({
            "event_type": "model_call",
            "action": "model.complete",
            "result": if failed { "error" } else { "success" },
            "severity": if failed { "low" } else { "info" },
            "latency_ms": 300 + self.dice.mostly_small(9_000),
            "metadata": {
                "model": self.dice.pick(&MODELS),
                "input_tokens": 200 + self.dice.mostly_small(40_000),
                "output_tokens": 20 + self.dice.mostly_small(4_000),
            },
        });
        if failed {
            event["error_code"] = "OVERLOADED".into();
        }
        event
    }

    fn message(&mut self) -> Value {
        let denied = self.dice.permille(9);
        json!({
            "event_type": "message",
            "action": "messages.send",
            "result": if denied { "denied" } else { "success" },
            "severity": if denied { "medium" } else { "info" },
            "resource": format!("customer:cus_{:04}", self.dice.mostly_small(2_000)),
            "metadata": {
                "channel": self.dice.pick(&CHANNELS),
                "words": 5 + self.dice.mostly_small(400),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(events: &[Value], field: &str, value: &str) -> f64 {
        let having = events.iter().filter(|event| event[field] == value).count();
        #[expect(clippy::cast_precision_loss, reason = "a share of some thousands")]
        let share = having as f64 / events.len() as f64;
        share
    }

    #[test]
    fn the_same_number_tells_the_same_story_in_order_and_within_a_day() {
        let now = Timestamp::from_unix_millis(1_780_000_000_000);
        for count in [1, 7, 5_000] {
            let trail = Trail::new(count, now);
            let events: Vec<_> = trail.events(0..count).collect();
            assert_eq!(events.len(), count as usize);
            let again: Vec<_> = Trail::new(count, now).events(0..count).collect();
            assert_eq!(events, again);
            let times: Vec<_> = events
                .iter()
                .map(|event| event["occurred_at"].as_str().expect("a time").to_owned())
                .collect();
            assert!(times.is_sorted());
            assert!(times[0] >= now.minus(DAY).to_string());
            assert!(times[times.len() - 1] <= now.to_string());
        }
    }

    #[test]
    fn most_goes_well_some_is_denied_and_the_incident_shows() {
        let now = Timestamp::from_unix_millis(1_780_000_000_000);
        let trail = Trail::new(50_000, now);
        let all: Vec<_> = trail.events(0..50_000).collect();
        let denied = share(&all, "result", "denied");
        assert!((0.01..0.05).contains(&denied), "{denied}");
        let bounds = [INCIDENT.start, INCIDENT.end].map(|minute| trail.minutes[minute as usize]);
        let incident = &all[bounds[0] as usize..bounds[1] as usize];
        let errors = share(incident, "result", "error");
        assert!(errors > 0.1, "{errors}");
        assert!(share(&all, "result", "error") < 0.03);
    }
}
