//! Who was admitted when, and what must be so.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    fmt::Display,
    num::NonZeroU32,
    time::Duration,
};

use domain::limit::{Operation, Quota, WhenAlone};
use testkit::environment;
use tokio::time::Instant;

use crate::{Admission, metrics::DecidedBy};

/// Lines that are kept of a story, unless somebody asked for its seed.
const STORY_KEPT: usize = 80;
/// How long after the last trouble Redis has been told of everything: every node has beaten once more, and its late
/// calls are settled.
const TOLD_AFTER: Duration = Duration::from_millis(1_600);

/// How long an answer is on its way at most: what was decided before it is here by then.
const ANSWERED_AFTER: Duration = Duration::from_millis(100);

/// An answer that is to be held against those before it.
struct Unchecked {
    at: Instant,
    is_admitted: bool,
    by: DecidedBy,
}

struct Entry {
    at: Instant,
    /// Which process admitted it.
    process: usize,
    /// How many it may admit without Redis, if it did.
    part: usize,
}

pub(super) struct Books {
    seed: u64,
    began: Instant,
    operation: Operation,
    quota: Quota,
    entries: VecDeque<Entry>,
    unchecked: VecDeque<Unchecked>,
    /// From when to when each process lived.
    lives: BTreeMap<usize, (Instant, Option<Instant>)>,
    /// Those that ended and did not tell, or whom nobody can ask again: what they admitted is forgotten.
    forgotten: HashSet<usize>,
    /// When something was last not as it should be: a node without Redis, or with others' data.
    pub(super) troubled_at: Instant,
    /// When the data were lost, up to when some node had not noticed.
    losses: Vec<(Instant, Option<Instant>)>,
    /// Up to when slots may have been lost: granted to somebody who was not there any more, or kept by a clock that stood
    /// still.
    slots_lost_until: Instant,
    pub(super) steps: u64,
    pub(super) admitted: u64,
    pub(super) refused: u64,
    pub(super) alone: u64,
    /// Nothing ends and nobody is cut off: as many nodes as a process once knew of are there.
    pub(super) is_complete: bool,
    known: BTreeMap<usize, NonZeroU32>,
    story: VecDeque<String>,
}

impl Books {
    pub(super) fn new(seed: u64, operation: Operation, quota: Quota) -> Self {
        let now = Instant::now();
        Self {
            seed,
            began: now,
            operation,
            quota,
            entries: VecDeque::new(),
            unchecked: VecDeque::new(),
            lives: BTreeMap::new(),
            forgotten: HashSet::new(),
            troubled_at: now,
            losses: Vec::new(),
            slots_lost_until: now,
            steps: 0,
            admitted: 0,
            refused: 0,
            alone: 0,
            is_complete: false,
            known: BTreeMap::new(),
            story: VecDeque::new(),
        }
    }

    pub(super) fn limit(&self) -> (Operation, Quota) {
        (self.operation, self.quota)
    }

    pub(super) fn starts(&mut self, process: usize) {
        self.lives.insert(process, (Instant::now(), None));
    }

    /// `has_told`: it could tell Redis what it admitted.
    pub(super) fn ends(&mut self, process: usize, has_told: bool) {
        if let Some((_, end)) = self.lives.get_mut(&process) {
            *end = Some(Instant::now());
        }
        if !has_told {
            self.forgotten.insert(process);
        }
    }

    /// The data of Redis are lost.
    pub(super) fn lost(&mut self) {
        self.losses.push((Instant::now(), None));
        let ended = self.lives.iter().filter(|(_, (_, end))| end.is_some());
        self.forgotten.extend(ended.map(|(process, _)| *process));
    }

    /// Slots are lost now, and for so much longer than before.
    pub(super) fn slots_are_lost(&mut self, longer_by: Duration) {
        self.slots_lost_until = self.slots_lost_until.max(Instant::now()) + longer_by;
    }

    /// Whether all nodes ask the same data, and are asked about nothing else.
    pub(super) fn is_well(&mut self, is_well: bool) {
        let now = Instant::now();
        if is_well {
            for (_, noticed) in &mut self.losses {
                noticed.get_or_insert(now);
            }
        } else {
            self.troubled_at = now;
        }
        self.check();
    }

    /// A request of a process has its answer. `nodes`: how many there are, as far as it knows; `decided_at`: when Redis
    /// decided for it last.
    pub(super) fn answered(
        &mut self,
        process: usize,
        nodes: NonZeroU32,
        (answer, by): (Admission, DecidedBy),
        decided_at: Instant,
    ) {
        self.steps += 1;
        let knew = self.known.insert(process, nodes);
        let forgot = self.is_complete && knew.is_some_and(|knew| knew > nodes);
        self.must(
            !forgot,
            &format!("{process} knows of {nodes}, and knew of {knew:?}"),
        );
        let is_by_redis = by == DecidedBy::Redis;
        self.tell(format!("{process} by {by:?}: {answer:?}"));
        if by == DecidedBy::Memory {
            self.troubled_at = Instant::now();
        }
        let at = if is_by_redis {
            decided_at
        } else {
            Instant::now()
        };
        self.unchecked.push_back(Unchecked {
            at,
            is_admitted: answer.admitted,
            by,
        });
        if !answer.admitted {
            self.refused += 1;
            return;
        }
        self.admitted += 1;
        self.alone += u64::from(!is_by_redis);
        // Another's answer may have come later, though it was decided before.
        let place = self.entries.partition_point(|entry| entry.at <= at);
        let part = if is_by_redis { 0 } else { self.part(nodes) };
        self.entries.insert(place, Entry { at, process, part });
        if !is_by_redis {
            self.own_part(process, part, at);
        }
    }

    /// Looks at the answers before which there are no others any more.
    fn check(&mut self) {
        let now = Instant::now();
        while let Some(answer) = self
            .unchecked
            .pop_front_if(|answer| answer.at + ANSWERED_AFTER < now)
        {
            match (answer.is_admitted, answer.by) {
                (true, by) => {
                    self.bound(answer.at);
                    if by == DecidedBy::Redis {
                        self.redis_knows(answer.at);
                    }
                }
                (false, DecidedBy::Redis | DecidedBy::DenyCache) => self.refused_in_time(answer.at),
                (false, DecidedBy::Memory) => {}
            }
        }
        let is_old = |entry: &mut Entry| entry.at + 3 * self.quota.window < now;
        while self.entries.pop_front_if(is_old).is_some() {}
    }

    /// How many a process may admit by itself that knows of so many.
    fn part(&self, nodes: NonZeroU32) -> usize {
        let part = match self.operation.when_alone() {
            WhenAlone::Share => self.quota.share(nodes),
            WhenAlone::Full | WhenAlone::Always => self.quota,
        };
        part.count.get() as usize
    }

    /// A node that decides by itself admits no more than its part of the limit, whoever decided on the others.
    fn own_part(&self, process: usize, part: usize, at: Instant) {
        let own = self.window(at).filter(|entry| entry.process == process);
        let own = own.count();
        self.must(
            own <= part,
            &format!("{process} admits {own} of its {part}"),
        );
    }

    /// All nodes together never admit more than is documented, whatever is going on.
    fn bound(&self, at: Instant) {
        let from = at.checked_sub(self.quota.window).unwrap_or(self.began);
        let limit = self.quota.count.get() as usize;
        let lived = |(start, end): &(Instant, Option<Instant>)| {
            *start <= at && end.is_none_or(|end| end > from)
        };
        let processes = self.lives.values().filter(|life| lived(life)).count();
        let felt = |(lost, noticed): &&(Instant, Option<Instant>)| {
            *lost <= at && noticed.is_none_or(|noticed| noticed >= from)
        };
        let losses = self.losses.iter().filter(felt).count();
        let most = match self.operation.when_alone() {
            _ if from >= self.troubled_at => limit,
            WhenAlone::Full | WhenAlone::Always => processes * limit,
            WhenAlone::Share => limit + self.parts(at),
        };
        let (total, most) = (self.window(at).count(), most + losses * limit);
        self.must(
            total <= most,
            &format!("{processes} processes and {losses} losses admit {total} of {most}"),
        );
    }

    /// What those may admit together who did without Redis. If all of them know of each other, that is the limit and less than
    /// one more for each.
    fn parts(&self, at: Instant) -> usize {
        let mut parts: BTreeMap<usize, usize> = BTreeMap::new();
        for entry in self.window(at) {
            let part = parts.entry(entry.process).or_default();
            *part = entry.part.max(*part);
        }
        parts.values().sum()
    }

    /// A Redis that was told of everything admits nobody if there are as many in the window already, whoever admitted them.
    fn redis_knows(&self, at: Instant) {
        if at < self.troubled_at + TOLD_AFTER {
            return;
        }
        let known = self.window(at);
        let known = known
            .filter(|entry| !self.forgotten.contains(&entry.process))
            .count();
        let limit = self.quota.count.get() as usize;
        self.must(known <= limit, &format!("Redis admits {known} of {limit}"));
    }

    /// Redis refuses nobody too early, if nothing went wrong for a while.
    fn refused_in_time(&self, at: Instant) {
        let trouble = self.troubled_at.max(self.slots_lost_until);
        if at < trouble + self.quota.window + TOLD_AFTER {
            return;
        }
        let (known, limit) = (self.window(at).count(), self.quota.count.get() as usize);
        self.must(
            known >= limit,
            &format!("somebody is refused though {known} of {limit} were admitted"),
        );
    }

    /// What was admitted in the window that ends with `at`.
    fn window(&self, at: Instant) -> impl Iterator<Item = &Entry> {
        let window = self.quota.window;
        let is_inside = move |entry: &&Entry| entry.at <= at && entry.at + window > at;
        self.entries.iter().filter(is_inside)
    }

    /// How many were admitted in the last window.
    pub(super) fn admitted_lately(&self) -> usize {
        self.window(Instant::now()).count()
    }

    pub(super) fn must(&self, holds: bool, what: &str) {
        assert!(
            holds,
            "not so: {what}\n{}\n{} of {:?} a {:?}; WATCHBELL_TEST_SEED={} shows it again",
            self.story(),
            self.operation.as_str(),
            self.quota.count,
            self.quota.window,
            self.seed,
        );
    }

    pub(super) fn tell(&mut self, what: impl Display) {
        if self.story.len() == STORY_KEPT && environment::seed().is_none() {
            self.story.pop_front();
        }
        let at = self.began.elapsed().as_millis();
        self.story.push_back(format!("{at} ms: {what}"));
    }

    /// What happened last.
    pub(super) fn story(&self) -> String {
        let lines: Vec<&str> = self.story.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}
