//! A decision from the trail: one that was never escalated, or so long ago that its approval is not kept.

use domain::{DecisionId, EventId, OrgId, Timestamp, approval::Status};
use journal::streams::Log;
use serde::Deserialize;
use serde_json::Value;

use super::body::{ApprovalBody, DecisionDetail, ResolutionBody};
use crate::{edge::Problem, planes::ControlPlane};

/// The event of a decision, as far as it is shown.
#[derive(Deserialize)]
struct DecisionEvent {
    decision_id: Option<String>,
    agent_id: String,
    action: String,
    resource: Option<String>,
    received_at: Timestamp,
    metadata: DecisionMetadata,
}

#[derive(Deserialize)]
struct DecisionMetadata {
    decision: Option<String>,
    reason: Option<String>,
    #[serde(default)]
    policies: Vec<String>,
    policy_version: Option<u32>,
    policy_digest: Option<String>,
    #[serde(default)]
    question: Value,
    request_digest: Option<String>,
}

/// The event that says how an approval ended.
#[derive(Deserialize)]
struct ApprovalEvent {
    result: String,
    occurred_at: Timestamp,
    #[serde(default)]
    metadata: ApprovalMetadata,
}

impl ApprovalEvent {
    fn read(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    fn is_approved(&self) -> bool {
        self.result == Status::Approved.as_str()
    }
}

#[derive(Default, Deserialize)]
struct ApprovalMetadata {
    by: Option<String>,
    note: Option<String>,
    expires_at: Option<Timestamp>,
}

/// A decision of the organisation; the event that it is has the same id but for the prefix.
pub async fn decision(
    plane: &ControlPlane,
    org: OrgId,
    id: DecisionId,
) -> Result<DecisionDetail, Problem> {
    let not_found = || Problem::not_found("decision");
    plane.wait_until_fresh(org, Log::Events).await?;
    let event = plane
        .store
        .event(org, EventId::from_uuid(id.uuid()))
        .await?;
    let event = event.ok_or_else(not_found)?;
    let event: DecisionEvent = serde_json::from_str(&event.json).map_err(|_| not_found())?;
    // Anybody may send events; only ours can know the id that they are given.
    if event
        .decision_id
        .is_none_or(|named| named.parse() != Ok(id))
    {
        return Err(not_found());
    }
    let said = event.metadata.decision.ok_or_else(not_found)?;
    let mut decision = DecisionDetail {
        summary: ApprovalBody {
            decision_id: id,
            decision: said,
            reason: event.metadata.reason.unwrap_or_default(),
            agent_id: event.agent_id,
            action: event.action,
            resource: event.resource,
            policies: event.metadata.policies,
            policy_version: event.metadata.policy_version,
            policy_digest: event.metadata.policy_digest,
            decided_at: event.received_at,
            expires_at: None,
            resolution: None,
        },
        question: event.metadata.question,
        payload: None,
        request_digest: event.metadata.request_digest,
        spent_by: None,
    };
    if decision.summary.decision == "escalate" {
        end(plane, org, &mut decision.summary).await?;
    }
    Ok(decision)
}

/// How an escalated decision ended whose approval is not kept any more. One that was never put to anybody,
/// because the journal went away at that moment, is denied.
async fn end(plane: &ControlPlane, org: OrgId, decision: &mut ApprovalBody) -> Result<(), Problem> {
    let end = plane.store.end_of_approval(org, decision.decision_id);
    let ended = end
        .await?
        .and_then(|event| ApprovalEvent::read(&event.json));
    let is_approved = ended.as_ref().is_some_and(ApprovalEvent::is_approved);
    decision.decision = if is_approved { "allow" } else { "deny" }.to_owned();
    decision.expires_at = ended.as_ref().and_then(|ended| ended.metadata.expires_at);
    decision.resolution = ended.map(|ended| ResolutionBody {
        outcome: ended.result,
        by: ended.metadata.by,
        at: ended.occurred_at,
        note: ended.metadata.note,
    });
    Ok(())
}

/// Whether the event of ours that says how an approval ended says that it was approved.
pub fn is_approved(json: &str) -> bool {
    ApprovalEvent::read(json).is_some_and(|ended| ended.is_approved())
}
