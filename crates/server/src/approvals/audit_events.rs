//! Tells the trail how approvals ended: each is an audit event, so that alert rules can tell others.
//!
//! Who resolves one tells of it. Each node looks every second for those that somebody resolved and did not tell of,
//! and for those whose time is over: this it notes first, and who was first to note it tells. The event follows from
//! the approval to the byte, and so does its id: told twice, it is listed once and alerts once.

use std::{convert::Infallible, time::Duration};

use domain::{
    DecisionId, KeyId, Timestamp,
    approval::{Approval, EVENT_TYPE, event_tail},
    clock::Clock,
    event::{Source, accept::Arrival},
};
use futures::{StreamExt as _, stream};
use journal::appenders::Appenders;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::{
    change_outbox, planes::ControlPlane, snapshots::Approvals, telemetry::metrics as names,
};

/// Of what the trail is told.
const OF: &str = "approvals";
/// How many are told in one round; the rest is for the next.
const ROUND_MAX: usize = 1_000;
/// How many are told at the same time: each waits for the journal three times.
const AT_A_TIME: usize = 16;

/// How much of the reason is told again: the whole is with the decision. With a note it must fit the metadata of an
/// event (16 KiB), however the policy was written.
const REASON_CHARS_MAX: usize = 500;

/// Tells the trail. Cheap to clone.
#[derive(Clone)]
pub struct ApprovalPublisher {
    approvals: Approvals,
    events: Appenders,
    clock: Clock,
    retention: Duration,
}

/// The audit event that the end of an approval is. Agent, action and resource are those of the decision, so that
/// rules watch for both alike.
#[derive(Serialize)]
struct EndEvent<'a> {
    event_type: &'static str,
    agent_id: &'a str,
    action: &'a str,
    result: &'static str,
    occurred_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a str>,
    decision_id: DecisionId,
    metadata: EndMetadata<'a>,
}

#[derive(Serialize)]
struct EndMetadata<'a> {
    /// What the decision says by now.
    decision: &'static str,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_by: Option<KeyId>,
    asked_at: Timestamp,
    expires_at: Timestamp,
    policy_version: u32,
    policy_digest: &'a str,
    request_digest: &'a str,
}

/// The outcome was noted before.
struct Noted;

impl ApprovalPublisher {
    pub fn new(plane: &ControlPlane) -> Self {
        Self {
            approvals: plane.approvals.clone(),
            events: plane.events.clone(),
            clock: plane.clock,
            retention: plane.retention,
        }
    }

    /// Tells of an approval that was just resolved. What fails or takes too long is left to the sweep.
    pub async fn publish(&self, approval: &Approval) {
        let id = approval.decision_id.to_string();
        change_outbox::at_once(OF, &id, self.record(approval)).await;
    }

    /// Tells the trail what it was not told, until stopped.
    pub async fn sweep(self, stopping: CancellationToken) -> anyhow::Result<()> {
        change_outbox::rounds(OF, &stopping, || self.publish_all()).await;
        Ok(())
    }

    async fn publish_all(&self) -> Result<(), Infallible> {
        let untold = stream::iter(self.approvals.untold(ROUND_MAX));
        let telling = untold.for_each_concurrent(AT_A_TIME, |approval| async move {
            let id = approval.decision_id.to_string();
            change_outbox::or_later(OF, &id, self.end(&approval).await);
        });
        telling.await;
        Ok(())
    }

    /// Sees to one that has ended: notes that its time is over, if nobody has, and tells of it.
    async fn end(&self, approval: &Approval) -> Result<(), journal::Error> {
        if approval.outcome.is_some() {
            return self.record(approval).await;
        }
        let note = |approval: &mut Approval| {
            if approval.outcome.is_some() {
                return Err(Noted);
            }
            approval.note_time_out(self.clock.now());
            Ok(())
        };
        let (org, id) = (approval.org_id, approval.decision_id);
        match self.approvals.change(org, id, note).await? {
            Some(Ok(noted)) if noted.outcome.is_some() => self.record(&noted).await,
            // It was resolved at the last moment, or another node was first: it is theirs to tell.
            _ => Ok(()),
        }
    }

    /// Puts the end of an approval into the trail, then notes that.
    async fn record(&self, approval: &Approval) -> Result<(), journal::Error> {
        let Some(at) = approval.ended_at(self.clock.now()) else {
            return Ok(());
        };
        let arrival = Arrival {
            org: approval.org_id,
            source: Source::Server,
            received_at: at,
            retention: self.retention,
        };
        let tail = event_tail(approval.decision_id);
        let (id, event) = (approval.decision_id.to_string(), event(approval, at));
        change_outbox::put(OF, &id, tail, &self.events, &arrival, &event).await?;
        let outcome = approval.status(at).as_str();
        metrics::counter!(names::APPROVALS, "outcome" => outcome).increment(1);
        let told = |approval: &mut Approval| {
            approval.told = true;
            Ok::<_, Noted>(())
        };
        let (org, id) = (approval.org_id, approval.decision_id);
        self.approvals.change(org, id, told).await?;
        Ok(())
    }
}

fn event(approval: &Approval, at: Timestamp) -> EndEvent<'_> {
    let status = approval.status(at);
    let said = approval.resolution();
    EndEvent {
        event_type: EVENT_TYPE,
        agent_id: &approval.agent_id,
        action: &approval.action,
        result: status.as_str(),
        occurred_at: at,
        resource: approval.resource.as_deref(),
        decision_id: approval.decision_id,
        metadata: EndMetadata {
            decision: status.decision(),
            reason: approval.reason.chars().take(REASON_CHARS_MAX).collect(),
            by: said.map(|said| said.by.to_string()),
            note: said.and_then(|said| said.note.as_deref()),
            asked_by: approval.asked_by,
            asked_at: approval.asked_at,
            expires_at: approval.expires_at,
            policy_version: approval.policy_version,
            policy_digest: &approval.policy_digest,
            request_digest: &approval.request_digest,
        },
    }
}
