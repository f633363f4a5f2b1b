//! What people are asked to approve: the same on every node that takes requests, changed in the journal.
//!
//! Held is what is pending and what the trail was not told of yet, without questions and payloads, which are
//! read from the journal when somebody looks at one. A change that this node makes is held at once; those of
//! others arrive with the journal's.

mod known;
mod reservations;

use std::{
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use domain::{
    DecisionId, KeyId, OrgId, Timestamp,
    approval::{Approval, NotSpendable, Refused, Resolution, Spending, Status},
    clock::Clock,
};
use journal::{Journal, approvals::ApprovalEntry, streams::Bucket};
use tokio::{
    sync::{broadcast, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use self::{
    known::Known,
    reservations::{HELD_MAX, PENDING_PER_KEY_MAX, PENDING_PER_ORG_MAX, Promised},
};
use crate::telemetry::metrics as names;
use journal::mirror::Mirror;

/// How many changes a stream may be behind; then it ends, and its client begins anew.
const NEWS_MAX: usize = 1_024;

/// The approvals as far as this node has heard. Cheap to clone.
#[derive(Clone)]
pub struct Approvals {
    journal: Journal,
    clock: Clock,
    known: Arc<RwLock<Known>>,
    promised: Arc<Mutex<Promised>>,
    news: broadcast::Sender<Arc<Approval>>,
    mirror: Mirror,
}

/// Nobody more can be asked: as many are pending as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooMany {
    OfAll,
    OfKey,
}

impl Approvals {
    pub fn new(journal: Journal, clock: Clock) -> Self {
        Self {
            mirror: Mirror::new(journal.clone(), Bucket::Approvals),
            journal,
            clock,
            known: Arc::default(),
            promised: Arc::default(),
            news: broadcast::Sender::new(NEWS_MAX),
        }
    }

    /// Promises that one more may be opened. Asked before the decision is recorded, so that the record says the
    /// truth; so those that are not opened yet count too, of a batch all that came before.
    pub fn room(&self, org: OrgId, key: Option<KeyId>, id: DecisionId) -> Result<(), TooMany> {
        let now = self.clock.now();
        let mut promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (mut of_org, mut of_key) = (promised.to(org, now), promised.to_key(org, key));
        for approval in known.pending(org, now) {
            of_org += 1;
            of_key += usize::from(approval.asked_by == key);
        }
        if known.len() + promised.len() >= HELD_MAX || of_org >= PENDING_PER_ORG_MAX {
            return Err(TooMany::OfAll);
        }
        if key.is_some() && of_key >= PENDING_PER_KEY_MAX {
            return Err(TooMany::OfKey);
        }
        promised.promise(org, key, id, now);
        Ok(())
    }

    /// One that was promised room will not be opened.
    pub fn give_back(&self, org: OrgId, id: DecisionId) {
        let mut promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        promised.end(org, id);
    }

    /// Puts a decision that was recorded to people.
    pub async fn open(&self, approval: Approval) -> Result<(), journal::Error> {
        let (org, id) = (approval.org_id, approval.decision_id);
        let opened = self.journal.open_approval(&approval).await;
        if let Ok(Some(revision)) = opened {
            self.apply(vec![ApprovalEntry { approval, revision }]);
        }
        // What could not be opened is not waited for.
        self.give_back(org, id);
        opened.map(|_| ())
    }

    /// Uses an approval up for a decision, unless it does not cover the request or another was first.
    pub async fn spend(
        &self,
        org: OrgId,
        id: DecisionId,
        spending: Spending<'_>,
    ) -> Result<Result<Approval, NotSpendable>, journal::Error> {
        let spend = |approval: &mut Approval| approval.spend(spending);
        let spent = self.change(org, id, spend).await?;
        Ok(spent.unwrap_or(Err(NotSpendable::Unknown)))
    }

    /// Ends an approval; `None` if the organization has no such one.
    pub async fn resolve(
        &self,
        org: OrgId,
        id: DecisionId,
        resolution: &Resolution,
    ) -> Result<Option<Result<Approval, Refused>>, journal::Error> {
        let resolve = |approval: &mut Approval| resolved(approval, resolution, self.clock.now());
        self.change(org, id, resolve).await
    }

    /// Changes an approval in the journal and here.
    pub async fn change<E>(
        &self,
        org: OrgId,
        id: DecisionId,
        change: impl Fn(&mut Approval) -> Result<(), E>,
    ) -> Result<Option<Result<Approval, E>>, journal::Error> {
        let changed = self.journal.change_approval(org, id, change).await?;
        Ok(match changed {
            None => {
                self.forget(org, id);
                None
            }
            Some(Err(refused)) => Some(Err(refused)),
            Some(Ok(entry)) => {
                self.apply(vec![entry.clone()]);
                Some(Ok(entry.approval))
            }
        })
    }

    /// An approval as it is now, whole; `None` if the organization has no such one.
    pub async fn find(
        &self,
        org: OrgId,
        id: DecisionId,
    ) -> Result<Option<ApprovalEntry>, journal::Error> {
        self.journal.approval(org, id).await
    }

    /// Waits until what was found has ended, by a person or by the clock, for as long as there is patience and the
    /// process goes on.
    pub async fn wait(
        &self,
        found: ApprovalEntry,
        patience: Duration,
        stopping: &CancellationToken,
    ) -> Approval {
        // Whoever ends it from here on wakes us: what was found is held before it is waited for.
        self.apply(vec![found.clone()]);
        let mut approval = found.approval;
        let Some(mut shown) = self.watch(&approval) else {
            return approval;
        };
        // A clock that is read right at the end must say that it has come.
        let left = approval.expires_at.since(self.clock.now()) + Duration::from_millis(1);
        let ended = shown.wait_for(|shown| shown.outcome.is_some());
        let ended = timeout(patience.min(left), ended);
        let _ = stopping.run_until_cancelled(ended).await;
        approval.outcome.clone_from(&shown.borrow().outcome);
        approval
    }

    /// What is pending, oldest first, without questions and payloads.
    pub fn pending(
        &self,
        org: OrgId,
        after: Option<DecisionId>,
        limit: usize,
    ) -> Vec<Arc<Approval>> {
        let now = self.clock.now();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let is_after = |one: &Arc<Approval>| after.is_none_or(|after| one.decision_id > after);
        known
            .pending(org, now)
            .filter(is_after)
            .take(limit)
            .collect()
    }

    /// Approvals of all organizations as they are opened and as they end, without questions and payloads.
    pub fn changes(&self) -> broadcast::Receiver<Arc<Approval>> {
        self.news.subscribe()
    }

    /// Approvals that have ended and that nobody seems to be telling the trail of; at most so many.
    pub fn untold(&self, limit: usize) -> Vec<Arc<Approval>> {
        let now = self.clock.now();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.forget_old(now);
        known.untold(now, limit)
    }

    /// Returns once everything that happened before the call is held.
    pub async fn catch_up(&self) -> Result<(), journal::Error> {
        self.mirror.catch_up().await
    }

    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let changes = self.journal.approval_changes();
        let apply = |changes| self.apply(changes);
        let begin_anew = || self.begin_anew();
        self.mirror
            .follow_revisions(changes, apply, begin_anew, stopping)
            .await
    }

    fn begin_anew(&self) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.begin_anew();
    }

    fn apply(&self, entries: Vec<ApprovalEntry>) {
        let now = self.clock.now();
        // Held together: one that is opened counts as known or as promised, at no time as both or as neither.
        let mut promised = self.promised.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for entry in entries {
            promised.end(entry.approval.org_id, entry.approval.decision_id);
            if let Some(news) = known.apply(entry, now) {
                // Nobody may be listening.
                let _ = self.news.send(news);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        metrics::gauge!(names::APPROVALS_PENDING).set(known.unresolved() as f64);
    }

    fn watch(&self, approval: &Approval) -> Option<watch::Receiver<Arc<Approval>>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.watch(approval.org_id, approval.decision_id)
    }

    fn forget(&self, org: OrgId, id: DecisionId) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.forget(org, id);
    }
}

/// Ends an approval with what a person said before, unless its time is over by now: the journal may have been away
/// meanwhile, and whoever asked in between was told that nobody had resolved it.
fn resolved(
    approval: &mut Approval,
    resolution: &Resolution,
    now: Timestamp,
) -> Result<(), Refused> {
    if approval.status(now) == Status::TimedOut {
        return Err(Refused::TimedOut);
    }
    approval.resolve(resolution.clone())
}

#[cfg(test)]
mod tests {
    use super::{
        known::tests::{asked, at, said},
        *,
    };

    #[test]
    fn what_was_said_in_time_and_reaches_the_journal_too_late_does_not_count() {
        let mut approval = asked(1);
        let in_time = said(at(99));
        let refused = resolved(&mut approval, &in_time, at(100));
        assert_eq!(refused, Err(Refused::TimedOut));
        assert_eq!(approval, asked(1));
        assert_eq!(resolved(&mut approval, &in_time, at(99)), Ok(()));
        let again = resolved(&mut approval, &in_time, at(101));
        assert_eq!(again, Ok(()), "it was ended by a try whose answer got lost");
    }
}
