//! The keys of events, and which of them a rule can be filed under.
//!
//! A key is the fingerprint of something an event holds. Rules that share a fingerprint by chance cost
//! time and nothing else, because whoever is found by a key is tested whole.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use super::paths::{PathId, Uses};
use crate::rule::pattern::{
    Conditions, FieldTest,
    predicate::{Predicate, folded},
    scalar::Scalar,
};

/// How many bytes of the start or end of a text make a key. An event is looked up once for each that
/// rules use, so they are few.
pub(super) const LENGTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// As many pairs of `event_type` and `result` may one rule be filed under.
const PAIRS_MAX: usize = 16;

/// A key that every event has which a rule wants.
pub(super) struct RuleKey {
    pub(super) print: u64,
    /// What the paths of these tests must be used for, so that events are given the key.
    pub(super) place: usize,
    pub(super) uses: Uses,
    /// How many events have it, roughly: 1 for few.
    weight: usize,
}

/// Keys of which every event has one that a rule wants.
pub(super) struct Way {
    pub(super) keys: Vec<RuleKey>,
}

impl Way {
    /// How many candidates events meet for it, roughly; `load` is how many are filed under a key.
    pub(super) fn cost(&self, load: impl Fn(u64) -> usize) -> usize {
        let cost = |key: &RuleKey| key.weight.saturating_mul(1 + load(key.print));
        self.keys.iter().map(cost).sum()
    }
}

/// Every way to file a rule. `places` are the paths of its tests.
pub(super) fn ways(conditions: &Conditions, places: &[PathId]) -> Vec<Way> {
    let mut ways = ways_of(&conditions.all, 0, places);
    ways.extend(by_branches(conditions, places));
    ways
}

/// Under a key for every branch of `$or`.
fn by_branches(conditions: &Conditions, places: &[PathId]) -> Option<Way> {
    let mut start = conditions.all.len();
    let mut keys = Vec::new();
    for branch in &conditions.any {
        let ways = ways_of(branch, start, places);
        keys.extend(ways.into_iter().min_by_key(|way| way.cost(|_| 0))?.keys);
        start += branch.len();
    }
    (!keys.is_empty()).then_some(Way { keys })
}

fn ways_of(tests: &[FieldTest], start: usize, places: &[PathId]) -> Vec<Way> {
    let with_places = || (start..).zip(tests);
    let mut ways: Vec<Way> = with_places()
        .filter_map(|(place, test)| way(test, place, places[place]))
        .collect();
    let at = |name: &str| with_places().find(|(_, test)| *test.path == [name.into()]);
    if let (Some((place, event_types)), Some((_, results))) = (at("event_type"), at("result")) {
        ways.extend(pairs(event_types, results, place));
    }
    ways
}

/// By one field, if everything that is listed for it leads to a key.
fn way(test: &FieldTest, place: usize, path: PathId) -> Option<Way> {
    let keys = test
        .any_of
        .iter()
        .map(|predicate| rule_key(predicate, test, place, path));
    Some(Way {
        keys: keys.collect::<Option<_>>()?,
    })
}

/// By `event_type` and `result` together, of which there are few of each and many pairs.
fn pairs(event_types: &FieldTest, results: &FieldTest, place: usize) -> Option<Way> {
    let (event_types, results) = (exact(event_types)?, exact(results)?);
    if event_types.len() * results.len() > PAIRS_MAX {
        return None;
    }
    let uses = Uses {
        pair: true,
        ..Uses::default()
    };
    let key = |event_type: &Scalar<'_>, result: &Scalar<'_>| RuleKey {
        print: pair(event_type, result),
        place,
        uses,
        weight: 8,
    };
    let pairs = event_types
        .iter()
        .flat_map(|event_type| results.iter().map(|result| key(event_type, result)));
    Some(Way {
        keys: pairs.collect(),
    })
}

fn exact(test: &FieldTest) -> Option<Vec<&Scalar<'static>>> {
    let exact = |predicate| match predicate {
        &Predicate::Is(ref value) => Some(value),
        _ => None,
    };
    test.any_of.iter().map(exact).collect()
}

/// The keys of which an event must have each, whatever else it has: from fields with one predicate.
pub(super) fn needs(conditions: &Conditions, places: &[PathId]) -> Vec<RuleKey> {
    let tests = conditions.all.iter().enumerate();
    tests
        .filter_map(|(place, test)| match test.any_of.as_slice() {
            [predicate] => rule_key(predicate, test, place, places[place]),
            _ => None,
        })
        .collect()
}

fn rule_key(
    predicate: &Predicate,
    test: &FieldTest,
    place: usize,
    path: PathId,
) -> Option<RuleKey> {
    let key = |print, uses, weight| {
        Some(RuleKey {
            print,
            place,
            uses,
            weight,
        })
    };
    let exactly = |value: &Scalar<'_>| {
        let uses = Uses {
            equals: true,
            ..Uses::default()
        };
        key(equals(path, value), uses, weight(test, value))
    };
    let start = |text: &str| {
        let (rung, length) = rung(text)?;
        let uses = Uses {
            starts: 1 << rung,
            ..Uses::default()
        };
        key(
            starts(path, &text.as_bytes()[..length]),
            uses,
            part_weight(length),
        )
    };
    let end = |text: &str| {
        let (rung, length) = rung(text)?;
        let uses = Uses {
            ends: 1 << rung,
            ..Uses::default()
        };
        let from = text.len() - length;
        key(
            ends(path, &text.as_bytes()[from..]),
            uses,
            part_weight(length),
        )
    };
    match predicate {
        Predicate::Is(value) => exactly(value),
        Predicate::Numeric(range) => exactly(&range.only()?),
        Predicate::Prefix(text) => start(text),
        Predicate::Suffix(text) => end(text),
        // Whichever says more.
        Predicate::Wildcard(glob) if glob.head().len() >= glob.tail().len() => start(glob.head()),
        Predicate::Wildcard(glob) => end(glob.tail()),
        Predicate::EqualsIgnoreCase(text) => {
            let uses = Uses {
                ignoring_case: true,
                ..Uses::default()
            };
            key(
                equals_ignoring_case(path, text),
                uses,
                weight(test, &Scalar::Null),
            )
        }
        Predicate::Contains(_)
        | Predicate::AnythingBut(_)
        | Predicate::Exists(_)
        | Predicate::Cidr(_) => None,
    }
}

/// How many events have a value in a field, roughly: 1 for few.
fn weight(test: &FieldTest, value: &Scalar<'_>) -> usize {
    match (&*test.path[0], value) {
        ("event_type" | "result" | "severity", _) => 32,
        ("metadata", Scalar::Bool(_) | Scalar::Null) => 32,
        ("metadata" | "action" | "error_code" | "latency_ms", _) => 4,
        _ => 1,
    }
}

/// How many events have a text that starts or ends like one of that length.
fn part_weight(length: usize) -> usize {
    match length {
        8.. => 8,
        4.. => 12,
        2.. => 24,
        _ => 48,
    }
}

/// The greatest of [`LENGTHS`] that a text has, and its place there.
fn rung(text: &str) -> Option<(usize, usize)> {
    let lengths = LENGTHS.iter().copied().enumerate();
    lengths.rev().find(|(_, length)| *length <= text.len())
}

#[derive(Hash)]
enum Kind {
    Equals,
    IgnoringCase,
    Pair,
    Starts,
    Ends,
}

pub(super) fn equals(path: PathId, value: &Scalar<'_>) -> u64 {
    match value {
        Scalar::Text(text) => equals_text(path, text),
        other => print((Kind::Equals, path, other)),
    }
}

pub(super) fn equals_text(path: PathId, text: &str) -> u64 {
    print((Kind::Equals, path, text))
}

pub(super) fn equals_ignoring_case(path: PathId, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (Kind::IgnoringCase, path).hash(&mut hasher);
    for letter in folded(text) {
        letter.hash(&mut hasher);
    }
    hasher.finish()
}

pub(super) fn pair(event_type: &Scalar<'_>, result: &Scalar<'_>) -> u64 {
    print((Kind::Pair, event_type, result))
}

pub(super) fn starts(path: PathId, start: &[u8]) -> u64 {
    print((Kind::Starts, path, start))
}

pub(super) fn ends(path: PathId, end: &[u8]) -> u64 {
    print((Kind::Ends, path, end))
}

/// The same for the same thing, in every process.
pub(super) fn print(thing: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    hasher.finish()
}

/// Two bits of 128 for a key: who needs a bit that no key of an event has cannot want it.
pub(super) fn mark(print: u64) -> u128 {
    1 << (print >> 57) | 1 << (print >> 50 & 127)
}
