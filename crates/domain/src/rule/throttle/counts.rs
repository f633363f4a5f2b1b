//! How many matches there were lately, by group: the log of the rate limits, read the other way.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use super::{Group, Room};
use crate::{
    Timestamp,
    limit::{Log, Quota},
    rule::definition::Threshold,
};

/// How many groups are looked at for each that is added: so the ones that nothing counts for any more
/// are gone soon, and no step takes long.
const LOOKED_AT: usize = 2;

/// The matches that still count.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    groups: HashMap<Group, Log>,
    /// The same groups, in the order they were last looked at.
    order: VecDeque<Group>,
    matches: usize,
}

/// What one more match made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// It was the one that the threshold asks for.
    pub reached: bool,
    pub overflowed: bool,
}

impl Counts {
    /// Counts a match.
    pub fn add(
        &mut self,
        threshold: &Threshold,
        group: &Group,
        at: Timestamp,
        room: Room,
    ) -> Counted {
        let Some(short_of_it) = short_of(threshold) else {
            // A threshold of one: not written today, but each match reaches it.
            return Counted {
                reached: true,
                overflowed: false,
            };
        };
        let overflowed = self.make_room(short_of_it, group, at, room);
        let log = self.groups.entry(group.clone()).or_default();
        let before = log.times().len();
        let reached = log.decide(short_of_it, millis(at), 1).granted == 0;
        self.matches = self.matches + log.times().len() - before;
        if reached {
            self.start_anew(group);
        }
        Counted {
            reached,
            overflowed,
        }
    }

    /// Takes over a match that was counted before.
    pub fn record(&mut self, threshold: &Threshold, group: &Group, at: Timestamp) {
        if let Some(short_of_it) = short_of(threshold) {
            self.make_room(short_of_it, group, at, Room::MOST);
            let log = self.groups.entry(group.clone()).or_default();
            let before = log.times().len();
            log.record(short_of_it, millis(at), 1);
            self.matches = self.matches + log.times().len() - before;
        }
    }

    /// Nothing counts for the group any more. It keeps its place, and leaves when it is looked at.
    pub fn start_anew(&mut self, group: &Group) {
        if let Some(log) = self.groups.get_mut(group) {
            self.matches -= log.times().len();
            *log = Log::default();
        }
    }

    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    pub fn matches(&self) -> usize {
        self.matches
    }

    /// Whether each group has one place in the order, and the matches are as many as there are.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let matches: usize = self.groups.values().map(|log| log.times().len()).sum();
        self.order.len() == self.groups.len()
            && self
                .order
                .iter()
                .all(|group| self.groups.contains_key(group))
            && matches == self.matches
    }

    /// Whether a group had to go that still counted.
    fn make_room(&mut self, quota: Quota, group: &Group, at: Timestamp, room: Room) -> bool {
        let is_new = !self.groups.contains_key(group);
        if is_new {
            for _ in 0..LOOKED_AT {
                self.look_at_oldest(quota, at);
            }
        }
        let mut overflowed = false;
        while (self.matches >= room.matches || is_new && self.groups.len() >= room.groups)
            && let Some(oldest) = self.order.pop_front()
        {
            let log = self.groups.remove(&oldest).unwrap_or_default();
            overflowed |= !log.is_empty();
            self.matches -= log.times().len();
        }
        if !self.groups.contains_key(group) {
            self.groups.insert(group.clone(), Log::default());
            self.order.push_back(group.clone());
        }
        overflowed
    }

    /// Forgets the group that was looked at longest ago, or looks at it again later.
    fn look_at_oldest(&mut self, quota: Quota, at: Timestamp) {
        let Some(oldest) = self.order.pop_front() else {
            return;
        };
        let Some(log) = self.groups.get_mut(&oldest) else {
            return;
        };
        let before = log.times().len();
        log.tidy(quota, millis(at));
        self.matches -= before - log.times().len();
        if log.is_empty() {
            self.groups.remove(&oldest);
        } else {
            self.order.push_back(oldest);
        }
    }
}

/// So many in the window are one short of the threshold: as a limit, it refuses the match that reaches it.
fn short_of(threshold: &Threshold) -> Option<Quota> {
    let window = Duration::from_secs(threshold.window_s.into());
    Quota::new(threshold.count.checked_sub(1)?, window)
}

fn millis(at: Timestamp) -> u64 {
    u64::try_from(at.unix_millis()).unwrap_or(0)
}
