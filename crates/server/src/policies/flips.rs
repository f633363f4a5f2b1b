//! How many decisions another version would have made otherwise, and which, as it is told over HTTP.

use std::collections::BTreeMap;

use domain::{DecisionId, Timestamp};
use policy::{
    Party, Verdict,
    flips::{Flips, Sample},
    recorded::Recorded,
};
use serde::Serialize;
use utoipa::ToSchema;

/// Decisions being compared.
#[derive(Debug, Default)]
pub struct Compared {
    flips: Flips<Shown>,
    would_have_denied: u64,
    skipped: u64,
}

/// Decisions that were compared.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PolicyFlips)]
pub struct FlipsBody {
    /// Decisions that were compared.
    evaluated: u64,
    /// Decisions that would have been different.
    changed: u64,
    /// Decisions that were not denied but would have been.
    would_have_denied: u64,
    /// Events that are not decisions that can be compared, and decisions about a payload that the policies look at,
    /// because payloads are not recorded.
    skipped: u64,
    /// How many decisions changed in which way: `allow->deny` and so on.
    #[schema(example = json!({"allow->deny": 12}))]
    by_transition: BTreeMap<String, u64>,
    /// The newest of each transition, at most 5.
    #[schema(value_type = Vec<Shown>)]
    samples: Vec<Sample<Shown>>,
}

/// A decision that would have been different: `before` is what it was, `after` what it would be.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = PolicyFlip)]
pub struct Shown {
    #[schema(value_type = String, example = "dec_01jcq3k5m8e9ratvw2x4y6z8ab")]
    decision_id: DecisionId,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    #[schema(example = "Agent:billing-agent")]
    principal: String,
    #[schema(example = "payments.refund")]
    action: String,
    #[schema(example = "invoice:4711")]
    resource: String,
    /// Why it would be; unknown for a shadow, which records only the decision itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Compared {
    /// Counts a decision; `reason` says why it would be so.
    pub fn add(&mut self, decision: &Recorded, would_be: Verdict, reason: Option<String>) {
        let is_denied_anew = decision.said != Verdict::Deny && would_be == Verdict::Deny;
        self.would_have_denied += u64::from(is_denied_anew);
        self.flips
            .add(decision.said, would_be, || Shown::new(decision, reason));
    }

    /// Counts an event that cannot be compared.
    pub fn skip(&mut self) {
        self.skipped += 1;
    }
}

impl Shown {
    fn new(decision: &Recorded, reason: Option<String>) -> Self {
        let name = |party: &Party| format!("{}:{}", party.kind, party.id);
        Self {
            decision_id: decision.decision_id(),
            at: decision.id.time(),
            principal: name(&decision.question.principal),
            action: decision.question.action.clone(),
            resource: name(&decision.question.resource),
            reason,
        }
    }
}

impl From<Compared> for FlipsBody {
    fn from(compared: Compared) -> Self {
        let flips = compared.flips;
        Self {
            evaluated: flips.evaluated,
            changed: flips.changed,
            would_have_denied: compared.would_have_denied,
            skipped: compared.skipped,
            by_transition: flips.by_transition,
            samples: flips.samples,
        }
    }
}
