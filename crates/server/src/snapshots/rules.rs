//! Alert rules: all of them, in memory, by organisation; each organisation's set is replaced whole.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use domain::{
    OrgId, RuleId,
    rule::{Rule, RuleSet},
};
use journal::{
    Journal,
    config::{RuleChange, RuleChanges},
};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::retry::Retries;

/// Every rule, from which the sets are made.
type Known = HashMap<OrgId, HashMap<RuleId, Arc<Rule>>>;

/// A snapshot that is not current by then is a failure that an operator must see.
const CATCH_UP_MAX: Duration = Duration::from_secs(8);

/// The rules as far as this node has heard. Cheap to clone.
#[derive(Clone)]
pub struct Rules {
    journal: Journal,
    sets: Arc<RwLock<HashMap<OrgId, Arc<RuleSet>>>>,
    /// The sequence of the newest change in `sets`.
    applied: Arc<watch::Sender<u64>>,
}

impl Rules {
    pub fn new(journal: Journal) -> Self {
        Self {
            journal,
            sets: Arc::default(),
            applied: Arc::new(watch::Sender::new(0)),
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
        let mut applied = self.applied.subscribe();
        // The sender lives as long as `self`.
        let caught_up = applied.wait_for(|applied| *applied >= newest);
        match timeout(CATCH_UP_MAX, caught_up).await {
            Ok(_) => Ok(()),
            Err(_) => Err(journal::Error::behind("the rules", newest)),
        }
    }

    /// Reads every rule, then every change, until stopped.
    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let (mut known, mut changes) = (Known::new(), self.journal.rule_changes());
        let mut retries = Retries::new("follow alert rules", &stopping);
        while retries
            .again(
                self.apply_changes(&mut known, &mut changes, &stopping)
                    .await,
            )
            .await
        {}
        Ok(())
    }

    async fn apply_changes(
        &self,
        known: &mut Known,
        changes: &mut RuleChanges,
        stopping: &CancellationToken,
    ) -> Result<(), journal::Error> {
        loop {
            tokio::select! {
                changed = changes.next() => {
                    self.apply(known, changed?);
                    self.applied.send_replace(changes.position());
                }
                () = stopping.cancelled() => return Ok(()),
            }
        }
    }

    fn apply(&self, known: &mut Known, changes: Vec<RuleChange>) {
        let mut touched: Vec<OrgId> = Vec::new();
        for change in changes {
            let rules = known.entry(change.org).or_default();
            match change.value {
                Some(rule) => rules.insert(change.rule, Arc::new(rule)),
                None => rules.remove(&change.rule),
            };
            touched.push(change.org);
        }
        touched.sort_unstable();
        touched.dedup();
        for org in touched {
            let set = RuleSet::new(known[&org].values().map(Arc::clone));
            self.sets
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(org, Arc::new(set));
        }
    }
}
