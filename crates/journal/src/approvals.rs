//! What people were asked to approve, as last values: every change is made by comparing and setting, so of
//! two who resolve or spend one, one is the first.
//!
//! A try whose answer got lost is repeated, reads what it wrote, and finds that there is nothing left to
//! change: a resolution is known by what it says, a use by the decision that it is for.

use domain::{DecisionId, OrgId, approval::Approval};

use crate::{
    Error, Journal,
    follow::Entry,
    kv::{Changes, from_json, to_json},
    retry::{CLIENT_PATIENCE, persist},
    streams::Bucket,
};

/// An approval as the journal has it.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalEntry {
    pub approval: Approval,
    /// Grows with every change.
    pub revision: u64,
}

impl Journal {
    /// Puts it to people; its revision. Its decision was just made and its id is nobody else's, so one that is
    /// there already was put there by a try of ours whose answer got lost (`None`).
    pub async fn open_approval(&self, approval: &Approval) -> Result<Option<u64>, Error> {
        let doing = "open an approval";
        let key = &approval_key(approval.org_id, approval.decision_id);
        persist(CLIENT_PATIENCE, doing, || {
            self.set_value(Bucket::Approvals, key, approval_value(approval), 0, doing)
        })
        .await
    }

    /// An approval as it is now, asked of the leader; `None` if the organization has no such one.
    pub async fn approval(
        &self,
        org: OrgId,
        decision: DecisionId,
    ) -> Result<Option<ApprovalEntry>, Error> {
        let doing = "look up an approval";
        let key = &approval_key(org, decision);
        persist(CLIENT_PATIENCE, doing, || self.approval_once(key, doing)).await
    }

    /// Changes an approval, against whatever others make of it meanwhile, unless `change` refuses; the
    /// approval as it is then, or `None` if the organization has no such one.
    pub async fn change_approval<E>(
        &self,
        org: OrgId,
        decision: DecisionId,
        change: impl Fn(&mut Approval) -> Result<(), E>,
    ) -> Result<Option<Result<ApprovalEntry, E>>, Error> {
        let doing = "change an approval";
        let key = &approval_key(org, decision);
        let change = &change;
        persist(CLIENT_PATIENCE, doing, || async move {
            loop {
                let Some(found) = self.approval_once(key, doing).await? else {
                    return Ok(None);
                };
                let mut approval = found.approval.clone();
                if let Err(refused) = change(&mut approval) {
                    return Ok(Some(Err(refused)));
                }
                if approval == found.approval {
                    return Ok(Some(Ok(found)));
                }
                let json = approval_value(&approval);
                let set = self.set_value(Bucket::Approvals, key, json, found.revision, doing);
                if let Some(revision) = set.await? {
                    return Ok(Some(Ok(ApprovalEntry { approval, revision })));
                }
                // Somebody was faster: look again.
            }
        })
        .await
    }

    /// Every approval there is, then every change.
    pub fn approval_changes(&self) -> Changes<ApprovalEntry> {
        self.changes(Bucket::Approvals, 0, |entry: &Entry| {
            let read = read_approval(&entry.payload);
            let read = read.inspect_err(|error| {
                let key = &entry.subject;
                tracing::error!(key, %error, "skipped an unreadable approval");
            });
            Some(ApprovalEntry {
                approval: read.ok()??,
                revision: entry.sequence,
            })
        })
    }

    async fn approval_once(&self, key: &str, doing: &str) -> Result<Option<ApprovalEntry>, Error> {
        let Some(found) = self.value(Bucket::Approvals, key, doing).await? else {
            return Ok(None);
        };
        let revision = found.revision;
        let entry = |approval| ApprovalEntry { approval, revision };
        Ok(read_approval(&found.json)?.map(entry))
    }
}

fn approval_key(org: OrgId, decision: DecisionId) -> String {
    format!("{org}.{decision}")
}

/// An approval's value as it is written.
fn approval_value(approval: &Approval) -> String {
    to_json(approval)
}

/// An approval's value as written; `None` if it is gone.
pub fn read_approval(json: &[u8]) -> Result<Option<Approval>, Error> {
    from_json("approval", json)
}

#[cfg(test)]
mod tests {
    use domain::{
        KeyId, Timestamp,
        approval::{Fact, Outcome, Resolution, Resolver, Spent},
    };
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    /// As version 1 writes it. The file is never changed; a new shape is a new version and a new file.
    const APPROVAL_V1: &[u8] = include_bytes!("../golden/approval.v1.json");

    #[test]
    fn the_value_of_version_1_is_read_and_written_to_the_byte() {
        let uuid =
            |number: u128| Uuid::from_u128(0x0193_2b3c_4d5e_7000_8000_0000_0000_0000 + number);
        let at = |seconds: i64| Timestamp::from_unix_millis(1_794_735_000_000 + 1_000 * seconds);
        let approval = Approval {
            decision_id: DecisionId::from_uuid(uuid(1)),
            org_id: OrgId::from_uuid(uuid(2)),
            request_digest: format!("sha256:{}", "1".repeat(64)),
            agent_id: "billing-agent".to_owned(),
            action: "payments.refund".to_owned(),
            resource: Some("invoice:4711".to_owned()),
            reason: "Refunds above 100 need a person.".to_owned(),
            policies: vec!["large-refunds".to_owned()],
            policy_version: 2,
            policy_digest: format!("sha256:{}", "0".repeat(64)),
            question: json!({"action": "payments.refund", "context": {"amount": 250}}),
            // In the order of their names: whether another is kept is up to a feature of serde_json.
            payload: Some(json!({"amount": 250, "none": null, "rate": 1.5})),
            asked_at: at(0),
            expires_at: at(900),
            valid_s: 300,
            asked_by: None,
            self_approval_allowed: false,
            facts: Vec::new(),
            session_id: None,
            outcome: Some(Outcome::Resolved(Resolution {
                approved: true,
                by: Resolver::Key(KeyId::from_uuid(uuid(3))),
                at: at(60),
                note: Some("Known customer.".to_owned()),
            })),
            spent: Some(Spent {
                by: DecisionId::from_uuid(uuid(4)),
                at: at(61),
            }),
            told: true,
        };
        let written = approval_value(&approval);
        assert_eq!(written, String::from_utf8_lossy(APPROVAL_V1));
        assert_eq!(
            read_approval(APPROVAL_V1).expect("readable"),
            Some(approval.clone())
        );
        let timed_out = Approval {
            outcome: Some(Outcome::TimedOut),
            ..approval
        };
        let written = approval_value(&timed_out);
        assert_eq!(
            read_approval(written.as_bytes()).expect("readable"),
            Some(timed_out.clone())
        );
        // What came later is written only where there is something to say.
        let asked = Approval {
            asked_by: Some(KeyId::from_uuid(uuid(5))),
            self_approval_allowed: true,
            facts: vec![Fact {
                name: "amount".to_owned(),
                value: "250".to_owned(),
            }],
            session_id: Some("run-1".to_owned()),
            ..timed_out.clone()
        };
        let written = approval_value(&asked);
        assert_eq!(
            read_approval(written.as_bytes()).expect("readable"),
            Some(asked)
        );
        assert!(read_approval(br#"{"v":"2"}"#).is_err());
        assert_eq!(read_approval(b"").expect("gone"), None);
    }
}
