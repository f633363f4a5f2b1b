//! Alert rules: all of them, in memory, by organisation; each organisation's set is replaced whole.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use domain::{
    OrgId, RuleId,
    rule::{Rule, RuleSet},
};
use journal::{
    Journal,
    config::{RuleChange, RuleChanges},
};
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use crate::retry::Retries;

/// A rule to be put into a set, or taken out of it.
type Change = (RuleId, Option<Arc<Rule>>);

/// The rules as far as this node has heard. Cheap to clone.
#[derive(Clone)]
pub struct Rules {
    journal: Journal,
    sets: Arc<RwLock<HashMap<OrgId, Arc<RuleSet>>>>,
    progress: Progress,
}

impl Rules {
    pub fn new(journal: Journal) -> Self {
        Self {
            journal,
            sets: Arc::default(),
            progress: Progress::new(),
        }
    }

    /// The rules of an organisation.
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
        let newest = self.journal.newest_rule_change().await?;
        self.progress.wait_for("the rules", newest).await
    }

    /// Reads every rule, then every change, until stopped.
    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let mut changes = self.journal.rule_changes();
        let mut retries = Retries::new("follow alert rules", &stopping);
        while retries
            .again(self.apply_changes(&mut changes, &stopping).await)
            .await
        {}
        Ok(())
    }

    async fn apply_changes(
        &self,
        changes: &mut RuleChanges,
        stopping: &CancellationToken,
    ) -> Result<(), journal::Error> {
        loop {
            tokio::select! {
                changed = changes.next() => {
                    self.apply(changed?);
                    self.progress.applied(changes.position());
                }
                () = stopping.cancelled() => return Ok(()),
            }
        }
    }

    /// Each organisation's set is made from the one before, and replaced whole.
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
