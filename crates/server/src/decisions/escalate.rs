//! A policy asks for a person: the approval that the agent names is spent, or somebody is asked.
//!
//! Spent before it is recorded, so that of two decisions by one approval only one is on record as allowed; whoever
//! dies in between has used the approval up, and a person is asked again. Put to people after it is recorded, so
//! that nobody approves what is not on record; whoever dies in between asks again.

use domain::{
    DecisionId, Timestamp,
    approval::{Approval, NotSpendable, Spending},
    guard::Settings,
};
use policy::Verdict;
use serde::Serialize;

use super::{
    answer::{DecisionAnswer, EvaluationSlots, NOBODY_TO_ASK, Patience, evaluated},
    request::{Ask, Asker},
};
use crate::{
    planes::DataPlane,
    snapshots::{Guarded, approvals::TooMany},
};

/// How many bytes of question and payload a person is shown: a value of the journal has to fit a message of NATS,
/// which has a million bytes at most unless it is set up otherwise.
const SHOWN_BYTES_MAX: usize = 256 * 1024;

/// Why a person's approval was needed and not to be had; the decision is `deny` then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NotApproved {
    pub why: &'static str,
    /// The approval that the agent named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<DecisionId>,
}

/// What becomes of an answer that says `escalate`: allowed by the approval that was named, denied if that does not
/// help or nobody more can be asked, or as it was.
pub async fn settled(
    turns: &EvaluationSlots<'_>,
    asker: Asker,
    guarded: &Guarded,
    patience: &mut Patience,
    ask: &Ask,
    escalated: DecisionAnswer,
) -> Result<DecisionAnswer, journal::Error> {
    let plane = turns.plane;
    let Some(approval) = ask.approval else {
        return Ok(
            match may_be_asked(plane, asker, ask, escalated.decision_id) {
                Ok(()) => escalated,
                Err((why, reason)) => denied(escalated, why, reason, None),
            },
        );
    };
    let id = escalated.decision_id;
    // First, so that no approval is spent on a question that has no turn.
    let approved = evaluated(turns, guarded, ask, id, true).await;
    *patience = patience.after(&approved);
    if approved.is_busy {
        return Ok(approved);
    }
    let spending = Spending {
        request_digest: ask.request_digest(),
        policy_digest: &escalated.policy_digest,
        by: id,
        at: plane.clock.now(),
    };
    let spent = plane.approvals.spend(asker.org, approval, spending);
    Ok(match patience.wait_for(spent).await? {
        Some(Ok(_)) => DecisionAnswer {
            approval: Some(approval),
            ..approved
        },
        Some(Err(why)) => denied(escalated, name(why), why.reason(), Some(approval)),
        None => DecisionAnswer {
            is_fallback: true,
            ..denied(escalated, "journal_away", NOBODY_TO_ASK, Some(approval))
        },
    })
}

/// An answer about a call that is denied for another of its answers. If it says `escalate`, nobody is asked: whatever they said,
/// the call would not be made.
pub fn unless_in_vain(plane: &DataPlane, asker: Asker, answer: DecisionAnswer) -> DecisionAnswer {
    if answer.verdict != Verdict::Escalate {
        return answer;
    }
    plane.approvals.give_back(asker.org, answer.decision_id);
    let reason = "This needs a person's approval, but nobody is asked, because something else that the call works on is denied.";
    denied(answer, "call_denied", reason, None)
}

/// Puts a decision that is on record to people; until when they may resolve it.
pub async fn open(
    plane: &DataPlane,
    asker: Asker,
    settings: Settings,
    ask: &Ask,
    answer: &DecisionAnswer,
    asked_at: Timestamp,
) -> Result<Timestamp, journal::Error> {
    let expires_at = asked_at.plus(settings.approval_timeout());
    let policies = answer.decided.policies.iter();
    let approval = Approval {
        decision_id: answer.decision_id,
        org_id: asker.org,
        request_digest: ask.request_digest().to_owned(),
        agent_id: ask.named.agent_id.clone(),
        action: ask.named.action.clone(),
        resource: ask.named.resource.clone(),
        reason: answer.decided.reason.clone(),
        policies: policies.map(|policy| policy.id.clone()).collect(),
        policy_version: answer.policy_version,
        policy_digest: answer.policy_digest.clone(),
        question: serde_json::to_value(&ask.question).expect("a question always encodes"),
        payload: ask.payload().cloned(),
        asked_at,
        expires_at,
        valid_s: settings.approval_valid_s,
        asked_by: asker.key,
        self_approval_allowed: settings.self_approval_allowed,
        facts: policy::show::facts(&answer.decided.policies, &ask.question, ask.payload()),
        session_id: ask.named.run.session_id.clone(),
        outcome: None,
        spent: None,
        told: false,
    };
    plane.approvals.open(approval).await?;
    Ok(expires_at)
}

/// Whether somebody can be asked; otherwise why not, in a word and in a sentence.
fn may_be_asked(
    plane: &DataPlane,
    asker: Asker,
    ask: &Ask,
    id: DecisionId,
) -> Result<(), (&'static str, &'static str)> {
    let shown = serde_json::to_vec(&(&ask.question, ask.payload()));
    if !shown.is_ok_and(|shown| shown.len() <= SHOWN_BYTES_MAX) {
        let reason = "This needs a person's approval, but the question and payload are too large to show to anyone (256 KiB).";
        return Err(("too_large", reason));
    }
    // Last, because it promises room.
    let room = plane.approvals.room(asker.org, asker.key, id);
    room.map_err(|too_many| match too_many {
        TooMany::OfAll => {
            let reason = "This needs a person's approval, but the maximum number of requests is \
                          already awaiting approval.";
            ("too_many_pending", reason)
        }
        TooMany::OfKey => {
            let reason = "This needs a person's approval, but this API key already has the maximum number of requests awaiting approval (100).";
            ("too_many_pending_of_key", reason)
        }
    })
}

fn denied(
    escalated: DecisionAnswer,
    why: &'static str,
    reason: &'static str,
    approval: Option<DecisionId>,
) -> DecisionAnswer {
    let mut denied = escalated;
    denied.verdict = Verdict::Deny;
    denied.decided.verdict = Verdict::Deny;
    denied.decided.reason = reason.to_owned();
    denied.refused = Some(NotApproved { why, approval });
    denied
}

fn name(why: NotSpendable) -> &'static str {
    match why {
        NotSpendable::Unknown => "approval_unknown",
        NotSpendable::Pending => "approval_pending",
        NotSpendable::Denied => "approval_denied",
        NotSpendable::TimedOut => "approval_timed_out",
        NotSpendable::Mismatch => "approval_mismatch",
        NotSpendable::PoliciesChanged => "policies_changed",
        NotSpendable::Used => "approval_used",
        NotSpendable::Lapsed => "approval_lapsed",
    }
}
