//! What a matcher knows of a partition: how far it is, and the pace of its rules.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet, VecDeque},
    time::Duration,
};

use domain::{
    OrgId, RuleId, Timestamp,
    rule::{
        Definition, Rule,
        throttle::{Ended, Fate, Group, Groups, Match, Pace, Room, Size, Step},
    },
};
use journal::record::{Judged, Position};
use tokio::time::Instant;

use crate::{chain::Whose, judge::Pair};

/// How exactly it is known where in the chain the pace of a rule begins: reading it takes up to so much
/// longer than it must.
const LANDMARK_EVERY: Duration = Duration::from_secs(60);

/// How much the rules of one organization remember together: some 20 and 8 MB. A rule that wants more
/// forgets its own oldest.
const ROOM_OF_ORG: Room = Room {
    groups: 100_000,
    matches: 1_000_000,
};

/// What is known between two batches. All of it can be read from the record.
#[derive(Default)]
pub(super) struct PartitionState {
    /// When the log of events was made.
    pub(super) created: String,
    /// What is judged.
    pub(super) position: Position,
    /// When the last message of it was stored, if that is known.
    pub(super) reached_ns: Option<i64>,
    /// The end of the chain of judgments, and what of it needs no look any more.
    pub(super) last: u64,
    pub(super) settled: u64,
    /// Since when we are further than the end of the chain says.
    pub(super) ahead_since: Option<Instant>,
    /// Whether something is decided that is not on record, or not queued yet.
    pub(super) is_unsettled: bool,
    /// Of the event that is judged next: rules whose word on it is on record.
    known: HashSet<Pair>,
    /// The latest time of an event.
    clock: Timestamp,
    paces: HashMap<RuleId, RulePace>,
    /// What the rules of an organization remember together.
    sizes: HashMap<OrgId, Size>,
    /// When a period of a rule ends.
    ends: BinaryHeap<Reverse<(Timestamp, RuleId)>>,
    /// Places in the chain, with the clock as it was there.
    landmarks: VecDeque<(u64, Timestamp)>,
    /// The longest that a rule remembers.
    longest: Duration,
}

struct RulePace {
    org: OrgId,
    counts_since: u32,
    pace: Pace,
    /// The end that is in [`PartitionState::ends`].
    awaited: Option<Timestamp>,
}

/// A rule whose periods have ended.
pub(super) struct Over {
    pub(super) whose: Whose,
    pub(super) ended: Vec<Ended>,
}

impl PartitionState {
    /// An event of this time is judged.
    pub(super) fn see(&mut self, at: Timestamp) {
        self.clock = self.clock.max(at);
    }

    /// The latest time of an event.
    pub(super) fn clock(&self) -> Timestamp {
        self.clock
    }

    /// Judges a match.
    pub(super) fn step(&mut self, rule: &Rule, groups: &Groups, hit: Match) -> Step {
        if !rule.definition.has_pace() {
            return Step {
                fate: Fate::Alert,
                hit,
                ended: Vec::new(),
                overflowed: false,
            };
        }
        let room = self.room_for(rule);
        self.ensure_pace(rule);
        let step = self.with_pace(rule.id, |pace| {
            pace.step(&rule.definition, groups, hit, room)
        });
        step.expect("it was made just now")
    }

    /// Takes over what is on record.
    pub(super) fn restore(&mut self, rule: &Rule, groups: &Groups, hit: Match, fate: Fate) {
        if rule.definition.has_pace() {
            self.ensure_pace(rule);
            self.with_pace(rule.id, |pace| {
                pace.restore(&rule.definition, groups, hit, fate);
            });
        }
    }

    /// A period is on record as ended.
    pub(super) fn ended(&mut self, rule: RuleId, counts_since: u32, group: &Group) {
        let known = self.paces.get(&rule);
        if known.is_some_and(|known| known.counts_since == counts_since) {
            self.with_pace(rule, |pace| pace.ended(group));
        }
    }

    /// When the next period ends.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.ends.peek().map(|Reverse((at, _))| *at)
    }

    /// Ends periods that are over by `now`, at most so many, of the first rule that has any.
    pub(super) fn take_ended(&mut self, now: Timestamp, most: usize) -> Option<Over> {
        while self.next_end()? <= now {
            let Reverse((_, rule)) = self.ends.pop()?;
            // It may be gone.
            let Some(known) = self.paces.get_mut(&rule) else {
                continue;
            };
            known.awaited = None;
            let whose = Whose {
                org: known.org,
                rule,
                counts_since: known.counts_since,
            };
            let ended = self.with_pace(rule, |pace| pace.end(now, most));
            let over = Over {
                whose,
                ended: ended.unwrap_or_default(),
            };
            if !over.ended.is_empty() {
                return Some(over);
            }
        }
        None
    }

    /// What the next message of the chain says of us.
    pub(super) fn judged(&mut self, position: Position, is_partial: bool) -> Judged {
        // One landmark may be older than what is remembered, if the next one is not.
        while let Some((_, next)) = self.landmarks.get(1)
            && next.plus(self.longest) <= self.clock
        {
            self.landmarks.pop_front();
        }
        let first = self.landmarks.front();
        Judged {
            created: self.created.clone(),
            position,
            is_partial,
            settled: self.settled,
            since: first.map_or(self.last + 1, |(sequence, _)| *sequence),
            at: self.clock,
        }
    }

    /// The chain ends with this message now.
    pub(super) fn appended(&mut self, sequence: u64, judged: &Judged) {
        self.last = sequence;
        self.clock = self.clock.max(judged.at);
        let newest = self.landmarks.back().map(|(_, clock)| *clock);
        let is_due = newest.is_none_or(|newest| newest.plus(LANDMARK_EVERY) <= self.clock);
        if is_due && !self.paces.is_empty() {
            self.landmarks.push_back((sequence, self.clock));
        }
        self.ahead_since = None;
    }

    /// Something went wrong. What is decided and not on record, or not queued, is read anew.
    pub(super) fn interrupted(&mut self) {
        if self.is_unsettled {
            *self = Self::default();
        }
    }

    /// We are further than the chain says.
    pub(super) fn go_ahead(&mut self) {
        self.ahead_since.get_or_insert_with(Instant::now);
    }

    pub(super) fn know(&mut self, pairs: Vec<Pair>) {
        self.known.extend(pairs);
    }

    pub(super) fn is_known(&self, pair: Pair) -> bool {
        self.known.contains(&pair)
    }

    /// Everything before this place is judged.
    pub(super) fn judged_up_to(&mut self, position: Position) {
        self.position = position;
        self.known.clear();
        self.go_ahead();
    }

    /// Forgets the rules that are gone or count otherwise now.
    pub(super) fn retain(&mut self, counts: impl Fn(Whose) -> bool) {
        self.paces.retain(|rule, known| {
            counts(Whose {
                org: known.org,
                rule: *rule,
                counts_since: known.counts_since,
            })
        });
        self.sizes.clear();
        for known in self.paces.values() {
            let size = self.sizes.entry(known.org).or_default();
            size.groups += known.pace.size().groups;
            size.matches += known.pace.size().matches;
        }
    }

    /// What a rule may remember: what any may, and no more than its organization has left.
    fn room_for(&self, rule: &Rule) -> Room {
        let of_org = self.sizes.get(&rule.org_id).copied().unwrap_or_default();
        let own = self.paces.get(&rule.id);
        let own = own.map(|known| known.pace.size()).unwrap_or_default();
        let left = |most: usize, all: usize, own: usize| most.saturating_sub(all) + own;
        let groups = left(ROOM_OF_ORG.groups, of_org.groups, own.groups);
        let matches = left(ROOM_OF_ORG.matches, of_org.matches, own.matches);
        // It remembers at least what it is told now.
        Room {
            groups: groups.clamp(1, Room::MOST.groups),
            matches: matches.clamp(1, Room::MOST.matches),
        }
    }

    /// Does something with the pace of a rule, and keeps account of what that makes it remember and await.
    fn with_pace<T>(&mut self, rule: RuleId, act: impl FnOnce(&mut Pace) -> T) -> Option<T> {
        let known = self.paces.get_mut(&rule)?;
        let before = known.pace.size();
        let acted = act(&mut known.pace);
        let after = known.pace.size();
        let size = self.sizes.entry(known.org).or_default();
        size.groups = (size.groups + after.groups).saturating_sub(before.groups);
        size.matches = (size.matches + after.matches).saturating_sub(before.matches);
        if let Some(end) = known.pace.next_end()
            && known.awaited.is_none_or(|awaited| end < awaited)
        {
            known.awaited = Some(end);
            self.ends.push(Reverse((end, rule)));
        }
        Some(acted)
    }

    /// Makes the pace of a rule, unless there is one for how it counts now.
    fn ensure_pace(&mut self, rule: &Rule) {
        self.longest = self.longest.max(remembers_for(&rule.definition));
        let known = self.paces.entry(rule.id).or_insert_with(|| RulePace {
            org: rule.org_id,
            counts_since: rule.counts_since,
            pace: Pace::default(),
            awaited: None,
        });
        if known.counts_since != rule.counts_since {
            // It counts otherwise now: what was counted is of no use.
            known.counts_since = rule.counts_since;
            known.pace = Pace::default();
        }
    }
}

fn remembers_for(rule: &Definition) -> Duration {
    let window_s = rule.threshold.as_ref().map_or(0, |it| it.window_s);
    let for_s = rule.suppress.as_ref().map_or(0, |it| it.for_s);
    Duration::from_secs(window_s.max(for_s).into())
}
