//! Rules that ask for the same, tested once for all of them.

use std::sync::Arc;

use super::{
    facts::Facts,
    key::{self, RuleKey},
    paths::{PathId, Paths, Uses},
};
use crate::rule::{Rule, pattern::Conditions};

/// What rules ask for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Condition {
    pub(super) pattern: Arc<Conditions>,
    except: Vec<Arc<Conditions>>,
}

/// The enabled rules that ask for the same.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) wanted: Condition,
    /// The fingerprint of what they ask for.
    pub(super) print: u64,
    /// The paths of all tests: of the pattern, then of each exception.
    places: Box<[PathId]>,
    /// What it is filed under; none if every event has to be tried.
    pub(super) keys: Box<[u64]>,
    /// The marks of the keys that every event has which they want.
    marks: u128,
    pub(super) rules: Box<[Arc<Rule>]>,
}

/// A node where it is filed. The marks are here, so that most are passed over without looking at them.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    marks: u128,
    pub(super) node: Arc<Node>,
}

impl Condition {
    pub(super) fn of(rule: &Rule) -> Self {
        let except = rule.definition.except.iter();
        Self {
            pattern: Arc::clone(rule.definition.pattern.conditions()),
            except: except
                .map(|pattern| Arc::clone(pattern.conditions()))
                .collect(),
        }
    }

    pub(super) fn print(&self) -> u64 {
        key::print(self)
    }

    /// The paths of all tests, which have numbers from now on.
    pub(super) fn places(&self, paths: &mut Paths) -> Box<[PathId]> {
        let all = [&self.pattern].into_iter().chain(&self.except);
        all.flat_map(|conditions| conditions.tests())
            .map(|test| paths.name(&test.path, Uses::default()))
            .collect()
    }
}

impl Node {
    pub(super) fn new(
        wanted: Condition,
        places: Box<[PathId]>,
        keys: &[RuleKey],
        marks: u128,
        rules: Vec<Arc<Rule>>,
    ) -> Self {
        let mut prints: Vec<u64> = keys.iter().map(|key| key.print).collect();
        // A value may be listed twice.
        prints.sort_unstable();
        prints.dedup();
        Self {
            print: wanted.print(),
            wanted,
            places,
            keys: prints.into(),
            marks,
            rules: rules.into(),
        }
    }

    /// The same for other rules.
    pub(super) fn with(&self, rules: Vec<Arc<Rule>>) -> Self {
        Self {
            rules: rules.into(),
            ..self.clone()
        }
    }

    pub(super) fn wants(&self, facts: &Facts<'_>) -> bool {
        let hold = |conditions: &Conditions, start: usize| {
            conditions.hold(|place, _| facts.at(self.places[start + place]))
        };
        let mut start = self.wanted.pattern.tests().count();
        hold(&self.wanted.pattern, 0)
            && !self.wanted.except.iter().any(|conditions| {
                let here = start;
                start += conditions.tests().count();
                hold(conditions, here)
            })
    }
}

impl Candidate {
    pub(super) fn of(node: &Arc<Node>) -> Self {
        Self {
            marks: node.marks,
            node: Arc::clone(node),
        }
    }

    pub(super) fn is(&self, node: &Arc<Node>) -> bool {
        Arc::ptr_eq(&self.node, node)
    }

    /// `false` if the event lacks a key that it must have.
    pub(super) fn can_want(&self, marks: u128) -> bool {
        self.marks & !marks == 0
    }
}
