//! How many verdicts would be others: what a backtest or a shadow version tells.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::verdict::Verdict;

/// How many samples are kept of each transition; there are twelve of these.
pub const SAMPLES_MAX: usize = 5;

/// Verdicts of two versions, counted. `S` is whatever shows a decision to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flips<S> {
    pub evaluated: u64,
    pub changed: u64,
    /// How often what became what: `"allow->deny": 3`.
    pub by_transition: BTreeMap<String, u64>,
    /// The first of each transition.
    pub samples: Vec<Sample<S>>,
}

/// A decision that would be another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sample<S> {
    pub before: Verdict,
    pub after: Verdict,
    #[serde(flatten)]
    pub decision: S,
}

impl<S> Default for Flips<S> {
    fn default() -> Self {
        Self {
            evaluated: 0,
            changed: 0,
            by_transition: BTreeMap::new(),
            samples: Vec::new(),
        }
    }
}

impl<S> Flips<S> {
    /// Counts one; `decision` is asked for only if it is kept.
    pub fn add(&mut self, before: Verdict, after: Verdict, decision: impl FnOnce() -> S) {
        self.count(before, after, 1);
        let is_same = |sample: &&Sample<S>| sample.before == before && sample.after == after;
        if before != after && self.samples.iter().filter(is_same).count() < SAMPLES_MAX {
            self.samples.push(Sample {
                before,
                after,
                decision: decision(),
            });
        }
    }

    /// Counts as many as somebody else has counted.
    pub fn count(&mut self, before: Verdict, after: Verdict, times: u64) {
        self.evaluated += times;
        if before != after && times > 0 {
            self.changed += times;
            let transition = format!("{}->{}", before.as_str(), after.as_str());
            *self.by_transition.entry(transition).or_default() += times;
        }
    }
}
