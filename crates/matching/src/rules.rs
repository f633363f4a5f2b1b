//! Alert rules: all of them, in memory, by organization; each organization's set is replaced whole.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use domain::{
    OrgId, RuleId,
    rule::{Rule, RuleSet},
};
use journal::{Journal, kv::RuleChange, mirror::Mirror, streams::Bucket};
use tokio_util::sync::CancellationToken;

/// A rule to be put into a set, or taken out of it.
type Change = (RuleId, Option<Arc<Rule>>);

/// The rules as far as this node has heard. Cheap to clone.
#[derive(Clone)]
pub struct Rules {
    journal: Journal,
    sets: Arc<RwLock<HashMap<OrgId, Arc<RuleSet>>>>,
    mirror: Mirror,
}

impl Rules {
    pub fn new(journal: Journal) -> Self {
        Self {
            mirror: Mirror::new(journal.clone(), Bucket::Rules),
            journal,
            sets: Arc::default(),
        }
    }

    /// The rules of an organization.
    pub fn of(&self, org: OrgId) -> Option<Arc<RuleSet>> {
        self.sets
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&org)
            .map(Arc::clone)
    }

    /// Returns once everything decided before the call is in the snapshot: a rule whose create call
    /// has returned judges every event accepted after that.
    pub async fn catch_up(&self) -> Result<(), journal::Error> {
        self.mirror.catch_up().await
    }

    /// Reads every rule, then every change, until stopped.
    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let changes = self.journal.rule_changes();
        let apply = |changes| self.apply(changes);
        self.mirror.follow(changes, apply, stopping).await
    }

    /// Each organization's set is made from the one before, and replaced whole.
    fn apply(&self, changes: Vec<RuleChange>) {
        let mut by_org: HashMap<OrgId, Vec<Change>> = HashMap::new();
        for change in changes {
            let changes = by_org.entry(change.org).or_default();
            changes.push((change.rule, change.value.map(Arc::new)));
        }
        for (org, changes) in by_org {
            let set = self.of(org).unwrap_or_default().with(changes);
            self.sets
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(org, Arc::new(set));
        }
    }
}
