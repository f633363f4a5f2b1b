//! Approvals in memory: which are pending, who waits for them, and which are to be looked at when.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use domain::{
    DecisionId, OrgId, Timestamp,
    approval::{Approval, Outcome, Status},
};
use journal::approvals::ApprovalEntry;
use serde_json::Value;
use tokio::sync::watch;

/// An outcome that is younger is being told by whoever brought it about.
const LEFT_BEHIND_AFTER: Duration = Duration::from_secs(5);
/// For so long an approval is held after it ended: late news of how it was before must not bring it back.
const REMEMBERED: Duration = Duration::from_secs(60);

/// What a node holds. An approval's id sorts by when it was asked for.
#[derive(Default)]
pub(super) struct Known {
    of: HashMap<OrgId, BTreeMap<DecisionId, Held>>,
    /// When each is to be looked at next.
    agenda: BTreeSet<(Timestamp, OrgId, DecisionId)>,
    unresolved: usize,
}

struct Held {
    revision: u64,
    /// As it is, without question and payload, for whoever waits for its end.
    shown: watch::Sender<Arc<Approval>>,
}

impl Known {
    /// Takes note of a change, unless it is older than what is known; what is news to those who watch: that
    /// it was opened, and that it has ended.
    pub(super) fn apply(&mut self, entry: ApprovalEntry, now: Timestamp) -> Option<Arc<Approval>> {
        let ApprovalEntry { approval, revision } = entry;
        let (org, id) = (approval.org_id, approval.decision_id);
        let approval = Arc::new(Approval {
            question: Value::Null,
            payload: None,
            ..approval
        });
        let before = self
            .held(org, id)
            .map(|held| (held.revision, held.is_open()));
        let was_open = match before {
            Some((known, _)) if known >= revision => return None,
            Some((_, was_open)) => Some(was_open),
            None if approval.told && look_at(&approval) <= now => return None,
            None => None,
        };
        self.put(Arc::clone(&approval), revision);
        let is_open = approval.outcome.is_none();
        (was_open != Some(is_open)).then_some(approval)
    }

    /// Whatever comes now is newer than what is known, which stands until then.
    pub(super) fn begin_anew(&mut self) {
        let held = self.of.values_mut().flat_map(BTreeMap::values_mut);
        for held in held {
            held.revision = 0;
        }
    }

    /// How many are held.
    pub(super) fn len(&self) -> usize {
        self.agenda.len()
    }

    /// How many nobody has resolved and nobody has noted as timed out.
    pub(super) fn unresolved(&self) -> usize {
        self.unresolved
    }

    /// What is pending, oldest first.
    pub(super) fn pending(
        &self,
        org: OrgId,
        now: Timestamp,
    ) -> impl Iterator<Item = Arc<Approval>> {
        let held = self.of.get(&org).into_iter().flat_map(BTreeMap::values);
        held.map(Held::shown)
            .filter(move |approval| approval.status(now) == Status::Pending)
    }

    /// Tells whoever waits how it is, from now on.
    pub(super) fn watch(
        &self,
        org: OrgId,
        id: DecisionId,
    ) -> Option<watch::Receiver<Arc<Approval>>> {
        Some(self.held(org, id)?.shown.subscribe())
    }

    /// Those whose time is over, and those whose outcome nobody seems to be telling, longest first.
    pub(super) fn untold(&self, now: Timestamp, limit: usize) -> Vec<Arc<Approval>> {
        let due = self.agenda.iter().take_while(|(at, ..)| *at <= now);
        due.filter_map(|(_, org, id)| Some(self.held(*org, *id)?.shown()))
            .filter(|approval| !approval.told)
            .take(limit)
            .collect()
    }

    /// Forgets what has ended and was told a while ago.
    pub(super) fn forget_old(&mut self, now: Timestamp) {
        let due = self.agenda.iter().take_while(|(at, ..)| *at <= now);
        let is_told = |org: OrgId, id: DecisionId| {
            let held = self.held(org, id);
            held.is_none_or(|held| held.shown.borrow().told)
        };
        let old: Vec<_> = due
            .filter(|(_, org, id)| is_told(*org, *id))
            .copied()
            .collect();
        for (_, org, id) in old {
            self.forget(org, id);
        }
    }

    pub(super) fn forget(&mut self, org: OrgId, id: DecisionId) {
        let Some(of_org) = self.of.get_mut(&org) else {
            return;
        };
        if let Some(held) = of_org.remove(&id) {
            self.agenda.remove(&(look_at(&held.shown()), org, id));
            self.unresolved -= usize::from(held.is_open());
        }
        if of_org.is_empty() {
            self.of.remove(&org);
        }
    }

    fn put(&mut self, approval: Arc<Approval>, revision: u64) {
        let (org, id) = (approval.org_id, approval.decision_id);
        self.agenda.insert((look_at(&approval), org, id));
        self.unresolved += usize::from(approval.outcome.is_none());
        let of_org = self.of.entry(org).or_default();
        let Some(held) = of_org.get_mut(&id) else {
            let shown = watch::Sender::new(approval);
            of_org.insert(id, Held { revision, shown });
            return;
        };
        held.revision = revision;
        let when = look_at(&approval);
        let before = held.shown.send_replace(approval);
        self.unresolved -= usize::from(before.outcome.is_none());
        if look_at(&before) != when {
            self.agenda.remove(&(look_at(&before), org, id));
        }
    }

    fn held(&self, org: OrgId, id: DecisionId) -> Option<&Held> {
        self.of.get(&org)?.get(&id)
    }
}

impl Held {
    fn shown(&self) -> Arc<Approval> {
        Arc::clone(&self.shown.borrow())
    }

    fn is_open(&self) -> bool {
        self.shown.borrow().outcome.is_none()
    }
}

/// When it is to be looked at, if nothing changes: at its end, when it should have been told, when it may be
/// forgotten.
fn look_at(approval: &Approval) -> Timestamp {
    let ended_at = match &approval.outcome {
        None => return approval.expires_at,
        Some(Outcome::TimedOut) => approval.expires_at,
        Some(Outcome::Resolved(resolution)) => resolution.at,
    };
    let then = if approval.told {
        REMEMBERED
    } else {
        LEFT_BEHIND_AFTER
    };
    ended_at.plus(then)
}

#[cfg(test)]
pub(super) mod tests {
    use domain::{
        UserId,
        approval::{Resolution, Resolver},
    };
    use uuid::Uuid;

    use super::*;

    pub(in super::super) fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_millis(1_000 * seconds)
    }

    fn org() -> OrgId {
        OrgId::from_uuid(Uuid::from_u128(1))
    }

    /// Asked at 0, over at 100.
    pub(in super::super) fn asked(number: u128) -> Approval {
        Approval {
            decision_id: DecisionId::from_uuid(Uuid::from_u128(number)),
            org_id: org(),
            request_digest: String::new(),
            agent_id: "agent-1".to_owned(),
            action: "payments.refund".to_owned(),
            resource: None,
            reason: String::new(),
            policies: Vec::new(),
            policy_version: 2,
            policy_digest: String::new(),
            question: Value::Bool(true),
            payload: Some(Value::Bool(true)),
            asked_at: at(0),
            expires_at: at(100),
            valid_s: 50,
            asked_by: None,
            self_approval_allowed: false,
            facts: Vec::new(),
            session_id: None,
            outcome: None,
            spent: None,
            told: false,
        }
    }

    /// What a person said: no.
    pub(in super::super) fn said(at: Timestamp) -> Resolution {
        Resolution {
            approved: false,
            by: Resolver::User(UserId::from_uuid(Uuid::from_u128(1))),
            at,
            note: None,
        }
    }

    fn denied(number: u128, told: bool) -> Approval {
        Approval {
            outcome: Some(Outcome::Resolved(said(at(10)))),
            told,
            ..asked(number)
        }
    }

    fn entry(approval: Approval, revision: u64) -> ApprovalEntry {
        ApprovalEntry { approval, revision }
    }

    fn ids(approvals: impl IntoIterator<Item = Arc<Approval>>) -> Vec<u128> {
        let number = |one: Arc<Approval>| one.decision_id.uuid().as_u128();
        approvals.into_iter().map(number).collect()
    }

    #[test]
    fn that_it_was_opened_and_that_it_ended_is_news_once_in_whatever_order_it_is_heard() {
        let mut known = Known::default();
        let opened = known.apply(entry(asked(1), 5), at(1)).expect("news");
        assert_eq!((&opened.question, &opened.payload), (&Value::Null, &None));
        assert!(known.apply(entry(asked(1), 5), at(1)).is_none(), "again");
        let waiting = known.watch(org(), opened.decision_id).expect("held");
        assert!(known.apply(entry(denied(1, false), 7), at(11)).is_some());
        assert!(waiting.has_changed().expect("held"));
        assert!(known.apply(entry(asked(1), 6), at(11)).is_none(), "older");
        assert!(known.apply(entry(denied(1, true), 8), at(11)).is_none());
        assert_eq!(ids(known.pending(org(), at(11))), Vec::<u128>::new());
        assert_eq!(known.unresolved(), 0);
    }

    #[test]
    fn what_is_pending_is_so_until_its_time_is_over_and_is_listed_oldest_first() {
        let mut known = Known::default();
        for number in [3, 1, 2] {
            known.apply(entry(asked(number), 1), at(1));
        }
        assert_eq!(ids(known.pending(org(), at(99))), [1, 2, 3]);
        assert_eq!(known.pending(org(), at(100)).count(), 0);
        assert_eq!(known.unresolved(), 3, "nobody has noted it");
        assert_eq!(ids(known.untold(at(99), 10)), Vec::<u128>::new());
        assert_eq!(ids(known.untold(at(100), 2)), [1, 2]);
    }

    #[test]
    fn what_nobody_told_is_looked_at_after_a_while_and_what_was_told_is_forgotten() {
        let mut known = Known::default();
        known.apply(entry(asked(1), 1), at(1));
        known.apply(entry(denied(1, false), 2), at(10));
        assert_eq!(ids(known.untold(at(14), 10)), Vec::<u128>::new());
        assert_eq!(ids(known.untold(at(15), 10)), [1]);
        known.apply(entry(denied(1, true), 3), at(15));
        assert_eq!(ids(known.untold(at(1_000), 10)), Vec::<u128>::new());
        known.forget_old(at(69));
        assert_eq!(known.len(), 1);
        known.forget_old(at(70));
        assert_eq!(known.len(), 0);
        assert!(known.of.is_empty());
        known.apply(entry(denied(2, true), 4), at(70));
        assert_eq!(known.len(), 0, "what is long over is not even held");
    }
}
