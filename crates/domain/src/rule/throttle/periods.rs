//! Which alerts keep others back, and how many they kept back.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use super::{Ended, Group, Match};
use crate::{Timestamp, rule::definition::Suppress};

/// The periods that are open, by group.
#[derive(Clone, Debug, Default)]
pub struct Periods {
    open: HashMap<Group, Period>,
    /// When they end, in the order they were opened in; one that is gone may still be named.
    ends: VecDeque<(Timestamp, Group)>,
}

#[derive(Clone, Copy, Debug)]
struct Period {
    ends_at: Timestamp,
    suppressed: u32,
    /// The last one that was kept back.
    last: Option<Match>,
}

/// What opening a period ended.
#[derive(Debug, Default)]
pub struct Opened {
    /// The group's last one, and those that had to make room, if they kept something back.
    pub ended: Vec<Ended>,
    pub overflowed: bool,
}

impl Periods {
    /// Keeps a match back, if a period of its group is open.
    pub fn keeps_back(&mut self, group: &Group, hit: Match) -> bool {
        let period = self.open.get_mut(group);
        let Some(period) = period.filter(|period| hit.at < period.ends_at) else {
            return false;
        };
        period.suppressed = period.suppressed.saturating_add(1);
        period.last = Some(hit);
        true
    }

    /// Takes over one that was kept back before. Its period is open, however it was opened.
    pub fn keep_back(&mut self, suppress: &Suppress, group: &Group, hit: Match) {
        if !self.keeps_back(group, hit) {
            self.open(suppress, group, hit.at, usize::MAX);
            self.keeps_back(group, hit);
        }
    }

    /// Opens a period; there may be so many.
    pub fn open(
        &mut self,
        suppress: &Suppress,
        group: &Group,
        at: Timestamp,
        most: usize,
    ) -> Opened {
        let mut opened = Opened::default();
        opened.ended.extend(self.close(group));
        while self.open.len() >= most
            && let Some(oldest) = self.take_first()
        {
            opened.overflowed = true;
            opened.ended.extend(self.close(&oldest));
        }
        let ends_at = at.plus(Duration::from_secs(suppress.for_s.into()));
        let period = Period {
            ends_at,
            suppressed: 0,
            last: None,
        };
        self.open.insert(group.clone(), period);
        self.ends.push_back((ends_at, group.clone()));
        opened
    }

    /// When the next one ends, or one that is gone would have.
    pub fn next_end(&self) -> Option<Timestamp> {
        self.ends.front().map(|(ends_at, _)| *ends_at)
    }

    pub fn groups(&self) -> usize {
        self.open.len()
    }

    /// Ends what is over by `now`, until so many have kept something back.
    pub fn end(&mut self, now: Timestamp, most: usize) -> Vec<Ended> {
        let mut ended = Vec::new();
        while ended.len() < most && self.next_end().is_some_and(|ends_at| ends_at <= now) {
            if let Some((ends_at, group)) = self.ends.pop_front()
                && self.is_open_until(&group, ends_at)
            {
                ended.extend(self.close(&group));
            }
        }
        ended
    }

    pub fn forget(&mut self, group: &Group) {
        self.open.remove(group);
    }

    /// The group whose period was opened first.
    fn take_first(&mut self) -> Option<Group> {
        loop {
            let (ends_at, group) = self.ends.pop_front()?;
            if self.is_open_until(&group, ends_at) {
                return Some(group);
            }
        }
    }

    /// `false` too if it was opened anew since.
    fn is_open_until(&self, group: &Group, ends_at: Timestamp) -> bool {
        let period = self.open.get(group);
        period.is_some_and(|period| period.ends_at == ends_at)
    }

    fn close(&mut self, group: &Group) -> Option<Ended> {
        let period = self.open.remove(group)?;
        Some(Ended {
            group: group.clone(),
            at: period.ends_at,
            suppressed: period.suppressed,
            last: period.last?,
        })
    }
}
