//! What a rule would have done: it is put before stored events, day by day, and what comes of it is counted.
//!
//! Days come oldest first; the events of a day come newest first, as the trail is read. So what a rule
//! counts over time (thresholds, suppression) is put in order once a day is whole.

use std::collections::VecDeque;

use serde::Serialize;

use super::{Rule, set::wants};
use crate::{Day, event::EventView};

/// How many matching events are shown.
pub const SAMPLES_MAX: usize = 10;

/// A rule, and what came of it so far.
#[derive(Debug)]
pub struct Backtest {
    rule: Rule,
    counts: Counts,
    by_day: Vec<DayCounts>,
    /// Newest first.
    samples: VecDeque<String>,
    today: Today,
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
}

impl Backtest {
    pub fn new(rule: Rule) -> Self {
        Self {
            rule,
            counts: Counts::default(),
            by_day: Vec::new(),
            samples: VecDeque::new(),
            today: Today::default(),
        }
    }

    /// Puts the rule before an event as stored.
    pub fn look_at(&mut self, json: &str) {
        self.counts.scanned += 1;
        // What cannot be read was counted by the index, and no rule ever saw it.
        let Ok(event) = EventView::parse(json) else {
            return;
        };
        if !wants(&self.rule, &event) {
            return;
        }
        self.counts.matched += 1;
        self.today.matched += 1;
        if self.today.samples.len() < SAMPLES_MAX {
            self.today.samples.push(json.to_owned());
        }
    }

    /// There is no more of this day.
    pub fn end_of(&mut self, day: Day) {
        let today = std::mem::take(&mut self.today);
        if today.matched == 0 {
            return;
        }
        let alerts = today.matched;
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
}
