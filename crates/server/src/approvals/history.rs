//! A decision from the trail: one that was never escalated, or so long ago that its approval is not kept.

use domain::{DecisionId, EventId, OrgId, Timestamp, approval::Status};
use serde::Deserialize;

use super::body::{ApprovalBody, DecisionDetail, ResolutionBody};
use policy::recorded::RecordedDecision;

use crate::{edge::Problem, planes::ControlPlane};

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

/// A decision of the organization; the event that it is has the same id but for the prefix.
pub async fn decision(
    plane: &ControlPlane,
    org: OrgId,
    id: DecisionId,
) -> Result<DecisionDetail, Problem> {
    let not_found = || Problem::not_found("decision");
    let event = plane.event(org, EventId::from_uuid(id.uuid())).await?;
    let event = event.ok_or_else(not_found)?;
    let event = RecordedDecision::read(&event.json).map_err(|_| not_found())?;
    let metadata = event.metadata;
    let mut decision = DecisionDetail {
        summary: ApprovalBody {
            decision_id: id,
            decision: metadata.decision.as_str().to_owned(),
            reason: metadata.reason,
            agent_id: event.agent_id,
            action: event.action,
            resource: event.resource,
            session_id: event.session_id,
            facts: Vec::new(),
            asked_by: None,
            policies: metadata.policies,
            policy_version: metadata.policy_version,
            policy_digest: metadata.policy_digest,
            decided_at: event.received_at,
            expires_at: None,
            resolution: None,
        },
        question: serde_json::to_value(metadata.question).unwrap_or_default(),
        payload: None,
        request_digest: metadata.request_digest,
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
    let (store, id) = (plane.store.clone(), decision.decision_id);
    let query = async move { store.end_of_approval(org, id).await };
    let found = plane.searches.run(org, query).await?;
    let ended = found.and_then(|event| ApprovalEvent::read(&event.json));
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
