//! The rules of one organization, indexed: the cost of an event does not grow with the rules.
//!
//! An event has keys: its values, how they start and end. A rule that can only want events with
//! certain keys is filed under them ([`key`]), once for all that ask for the same; the others are in a
//! list that every event goes through. For an event, [`facts`] reads the fields that rules name, once,
//! and only what is filed under its keys is tested. The parts are shared between a set and the one that
//! is made from it by a change ([`shards`]). docs/adr/0013-rules-are-filed-under-one-key.md has the why.

mod facts;
mod key;
mod node;
mod paths;
#[cfg(test)]
pub(super) mod random;
mod shards;
#[cfg(test)]
mod tests;
mod unindexed;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

pub use self::unindexed::Whole;

use self::{
    facts::Facts,
    node::{Candidate, Condition, Node},
    paths::{Paths, Uses},
    shards::Shards,
};
use super::{
    Rule,
    pattern::{Conditions, FieldTest},
};
use crate::{RuleId, event::EventView};

/// Paths that nobody names any more are kept until they are this many more than those that were named
/// when the set was last made from nothing.
const STALE_PATHS_MAX: usize = 1_024;

/// The rules of one organization. Never changed in place: a new one replaces it whole.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// All of them, also those that are disabled.
    rules: Shards<RuleId, Arc<Rule>>,
    paths: Paths,
    /// The nodes of the enabled rules, by a fingerprint of what they want.
    nodes: Shards<u64, Vec<Arc<Node>>>,
    /// The same nodes, by the keys of events.
    filed: Shards<u64, Arc<Vec<Candidate>>>,
    /// Those that no key leads to.
    scanned: Vec<Candidate>,
    /// How many paths were known when the set was made from nothing.
    fresh_paths: usize,
}

impl RuleSet {
    pub fn new(rules: impl IntoIterator<Item = Arc<Rule>>) -> Self {
        let mut set = Self::default();
        set.change(rules.into_iter().map(|rule| (rule.id, Some(rule))));
        set.fresh_paths = set.paths.len();
        set
    }

    /// The set after these changes: a rule to be put in, or `None` where it is gone. What does not
    /// change is shared with this one.
    pub fn with(&self, changes: impl IntoIterator<Item = (RuleId, Option<Arc<Rule>>)>) -> Self {
        let mut next = self.clone();
        next.change(changes);
        if next.paths.len() > 2 * next.fresh_paths + STALE_PATHS_MAX {
            return Self::new(next.rules.values().map(Arc::clone));
        }
        next
    }

    /// Whether no rule is enabled.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A rule, enabled or not.
    pub fn get(&self, id: RuleId) -> Option<&Arc<Rule>> {
        self.rules.get(&id)
    }

    /// The enabled rules that want this event, each once, in the order of their ids.
    pub fn matching(&self, event: &EventView<'_>) -> Vec<Arc<Rule>> {
        let mut found = Vec::new();
        if self.is_empty() {
            return found;
        }
        let facts = Facts::read(event, &self.paths);
        let keys = facts.keys();
        let marks = keys.iter().fold(0, |marks, key| marks | key::mark(*key));
        let filed = keys.iter().filter_map(|key| self.filed.get(key));
        for candidates in filed.map(|filed| &**filed).chain([&self.scanned]) {
            for candidate in candidates {
                if candidate.can_want(marks) && candidate.node.wants(&facts) {
                    found.extend(candidate.node.rules.iter().map(Arc::clone));
                }
            }
        }
        found.sort_unstable_by_key(|rule| rule.id);
        found.dedup_by_key(|rule| rule.id);
        found
    }

    fn change(&mut self, changes: impl IntoIterator<Item = (RuleId, Option<Arc<Rule>>)>) {
        // Of several changes of a rule the last one counts.
        let changes: BTreeMap<RuleId, Option<Arc<Rule>>> = changes.into_iter().collect();
        let mut wanting: HashMap<Condition, Vec<Arc<Rule>>> = HashMap::new();
        for (id, rule) in changes {
            if let Some(old) = self.rules.remove(&id) {
                self.unfile(&old);
            }
            if let Some(rule) = rule {
                if rule.definition.enabled {
                    let alike = wanting.entry(Condition::of(&rule)).or_default();
                    alike.push(Arc::clone(&rule));
                }
                self.rules.insert(id, rule);
            }
        }
        let mut wanting: Vec<_> = wanting.into_iter().collect();
        // Where a rule is filed depends on those before it.
        wanting.sort_unstable_by_key(|(_, rules)| rules[0].id);
        for (wanted, rules) in wanting {
            self.file(wanted, rules);
        }
    }

    /// Files rules that want the same, under the keys that fewest events and rules have.
    fn file(&mut self, wanted: Condition, rules: Vec<Arc<Rule>>) {
        if let Some(node) = self.node(&wanted).map(Arc::clone) {
            let rules = node.rules.iter().map(Arc::clone).chain(rules).collect();
            self.replace(&node, Some(node.with(rules)));
            return;
        }
        let places = wanted.places(&mut self.paths);
        let conditions = &wanted.pattern;
        let ways = key::ways(conditions, &places);
        let load = |key: u64| self.filed.get(&key).map_or(0, |filed| filed.len());
        let best = ways.into_iter().min_by_key(|way| way.cost(load));
        let keys = best.map_or_else(Vec::new, |way| way.keys);
        let needs = key::needs(conditions, &places);
        let tests: Vec<&FieldTest> = conditions.tests().collect();
        for key in keys.iter().chain(&needs) {
            self.paths.name(&tests[key.place].path, key.uses);
        }
        let marks = needs
            .iter()
            .fold(0, |marks, key| marks | key::mark(key.print));
        let node = Arc::new(Node::new(wanted, places, &keys, marks, rules));
        self.nodes.at(node.print).push(Arc::clone(&node));
        self.put(&node);
    }

    fn unfile(&mut self, rule: &Rule) {
        if !rule.definition.enabled {
            return;
        }
        let Some(node) = self.node(&Condition::of(rule)).map(Arc::clone) else {
            return;
        };
        let others = node.rules.iter().filter(|other| other.id != rule.id);
        let others: Vec<_> = others.map(Arc::clone).collect();
        let left = (!others.is_empty()).then(|| node.with(others));
        self.replace(&node, left);
    }

    fn node(&self, wanted: &Condition) -> Option<&Arc<Node>> {
        let alike = self.nodes.get(&wanted.print())?;
        alike.iter().find(|node| node.wanted == *wanted)
    }

    /// Puts another node in the places of this one, or nothing.
    fn replace(&mut self, old: &Arc<Node>, new: Option<Node>) {
        let alike = self.nodes.at(old.print);
        alike.retain(|node| !Arc::ptr_eq(node, old));
        let new = new.map(Arc::new);
        alike.extend(new.iter().map(Arc::clone));
        if alike.is_empty() {
            self.nodes.remove(&old.print);
        }
        self.take(old);
        if let Some(new) = new {
            self.put(&new);
        }
    }

    fn put(&mut self, node: &Arc<Node>) {
        let candidate = || Candidate::of(node);
        if node.keys.is_empty() {
            self.scanned.push(candidate());
        }
        for key in &node.keys {
            Arc::make_mut(self.filed.at(*key)).push(candidate());
        }
    }

    fn take(&mut self, node: &Arc<Node>) {
        let take = |candidates: &mut Vec<Candidate>| {
            let place = candidates.iter().position(|candidate| candidate.is(node));
            if let Some(place) = place {
                candidates.swap_remove(place);
            }
            candidates.is_empty()
        };
        if node.keys.is_empty() {
            take(&mut self.scanned);
        }
        for key in &node.keys {
            if take(Arc::make_mut(self.filed.at(*key))) {
                self.filed.remove(key);
            }
        }
    }
}

/// Whether a key leads to rules with these conditions.
pub(super) fn is_indexed(conditions: &Conditions) -> bool {
    let mut paths = Paths::default();
    let tests = conditions.tests();
    let places: Vec<_> = tests
        .map(|test| paths.name(&test.path, Uses::default()))
        .collect();
    !key::ways(conditions, &places).is_empty()
}
