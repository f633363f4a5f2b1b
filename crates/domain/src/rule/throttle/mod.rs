//! What becomes of a match: an alert, one more toward a threshold, or kept back.
//!
//! A rule without threshold and suppression needs none of this: each match is an alert. Otherwise:
//!
//! - **Threshold** ([`counts`]): the match that makes it `count` within `window_s` is an alert, and the
//!   counting starts anew: the next alert takes `count` matches of its own. Matches that differ in
//!   the fields of `group_by` are counted apart.
//! - **Suppression** ([`periods`]): an alert opens a period of `for_s`. Those that follow within it are
//!   kept back; when it ends, one delivery says how many those were.
//!
//! Time is that of the events (`received_at`, in the order of the journal), never that of the reader,
//! so whoever judges the same events comes to the same result. Only the end of a period that no event
//! ends is noticed by a clock, and put on record ([`Pace::end`], [`Pace::ended`]).
//!
//! What a rule remembers is bounded. Beyond the bound the group that has been there longest is
//! forgotten, and the step says so.

pub mod counts;
pub mod group;
pub mod periods;

use super::Definition;
use crate::{EventId, Timestamp};

use counts::Counts;
pub use group::{Group, Groups};
use periods::Periods;

/// How much a rule may remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Groups, for its threshold and for its suppression each: some 200 bytes.
    pub groups: usize,
    /// Matches that count, in all groups: 8 bytes.
    pub matches: usize,
}

impl Room {
    pub const MOST: Self = Self {
        groups: 10_000,
        matches: 100_000,
    };
}

/// How much a rule remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub groups: usize,
    pub matches: usize,
}

/// What one rule remembers of its matches.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// The latest time of a match. Clocks of nodes differ: one that goes back stands still here.
    clock: Timestamp,
    counts: Counts,
    periods: Periods,
}

/// A match of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    pub event: EventId,
    /// Where the event stands: the sequence of its message in the journal.
    pub message: u64,
    pub at: Timestamp,
}

/// What becomes of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It counts toward the threshold.
    Counted,
    Alert,
    /// There was an alert just now.
    Suppressed,
}

/// A match, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub fate: Fate,
    /// The match, at the time that counts.
    pub hit: Match,
    /// Periods that ended with this: the group's last one, or one that had to make room.
    pub ended: Vec<Ended>,
    /// A group was forgotten because there were too many.
    pub overflowed: bool,
}

/// A period of suppression that ended with alerts kept back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub group: Group,
    pub at: Timestamp,
    /// How many were kept back, and the last of them.
    pub suppressed: u32,
    pub last: Match,
}

impl Pace {
    /// Judges a match.
    pub fn step(&mut self, rule: &Definition, groups: &Groups, hit: Match, room: Room) -> Step {
        self.clock = self.clock.max(hit.at);
        let hit = Match {
            at: self.clock,
            ..hit
        };
        let mut step = Step {
            fate: Fate::Alert,
            hit,
            ended: Vec::new(),
            overflowed: false,
        };
        if let (Some(threshold), Some(group)) = (&rule.threshold, &groups.threshold) {
            let counted = self.counts.add(threshold, group, hit.at, room);
            step.overflowed |= counted.overflowed;
            if !counted.reached {
                step.fate = Fate::Counted;
                return step;
            }
        }
        if let (Some(suppress), Some(group)) = (&rule.suppress, &groups.suppress) {
            if self.periods.keeps_back(group, hit) {
                step.fate = Fate::Suppressed;
                return step;
            }
            let opened = self.periods.open(suppress, group, hit.at, room.groups);
            step.ended = opened.ended;
            step.overflowed |= opened.overflowed;
        }
        step
    }

    /// Takes over what was judged before, as it is on record.
    pub fn restore(&mut self, rule: &Definition, groups: &Groups, hit: Match, fate: Fate) {
        self.clock = self.clock.max(hit.at);
        if let (Some(threshold), Some(group)) = (&rule.threshold, &groups.threshold) {
            match fate {
                Fate::Counted => {
                    self.counts.record(threshold, group, hit.at);
                    return;
                }
                Fate::Alert | Fate::Suppressed => self.counts.start_anew(group),
            }
        }
        if let (Some(suppress), Some(group)) = (&rule.suppress, &groups.suppress) {
            if fate == Fate::Suppressed {
                self.periods.keep_back(suppress, group, hit);
            } else {
                let most = Room::MOST.groups;
                self.periods.open(suppress, group, hit.at, most);
            }
        }
    }

    /// When the next period ends, if there is one.
    pub fn next_end(&self) -> Option<Timestamp> {
        self.periods.next_end()
    }

    /// Ends the periods that are over by `now`; returns those that kept something back, at most so many.
    pub fn end(&mut self, now: Timestamp, most: usize) -> Vec<Ended> {
        self.periods.end(now, most)
    }

    pub fn size(&self) -> Size {
        Size {
            groups: self.counts.groups() + self.periods.groups(),
            matches: self.counts.matches(),
        }
    }

    /// Forgets a period that is on record as ended.
    pub fn ended(&mut self, group: &Group) {
        self.periods.forget(group);
    }
}

#[cfg(test)]
mod tests;
