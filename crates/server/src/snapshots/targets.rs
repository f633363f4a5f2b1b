//! Where the deliveries of each rule go now.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use domain::RuleId;
use journal::{Journal, config::RuleChange, streams::Bucket};
use tokio_util::sync::CancellationToken;

use super::mirror::Mirror;

/// The URL of every rule, and which rules are gone. Cheap to clone.
#[derive(Clone)]
pub struct Targets {
    journal: Journal,
    targets: Arc<RwLock<HashMap<RuleId, Target>>>,
    mirror: Mirror,
}

/// Where a rule's deliveries go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Url(Arc<str>),
    /// Somebody deleted the rule.
    Gone,
}

impl Targets {
    pub fn new(journal: Journal) -> Self {
        Self {
            mirror: Mirror::new(journal.clone(), Bucket::Rules),
            journal,
            targets: Arc::default(),
        }
    }

    /// `None`: nothing is known of the rule, which may be the journal's loss; its deliveries go on.
    pub fn of(&self, rule: RuleId) -> Option<Target> {
        let targets = self.targets.read().unwrap_or_else(PoisonError::into_inner);
        targets.get(&rule).cloned()
    }

    pub async fn catch_up(&self) -> Result<(), journal::Error> {
        self.mirror.catch_up().await
    }

    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let changes = self.journal.rule_changes();
        let apply = |changes| self.apply(changes);
        self.mirror.follow(changes, apply, stopping).await
    }

    fn apply(&self, changes: Vec<RuleChange>) {
        let mut targets = self.targets.write().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            let target = match change.value {
                Some(rule) => Target::Url(Arc::from(rule.definition.url)),
                None => Target::Gone,
            };
            targets.insert(change.rule, target);
        }
    }
}
