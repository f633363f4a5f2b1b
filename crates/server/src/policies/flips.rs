//! How many decisions another version would have made otherwise, and which.

use std::collections::BTreeMap;

use domain::{DecisionId, Timestamp};
use policy::{Party, Verdict};
use serde::Serialize;
use utoipa::ToSchema;

use super::recorded::Recorded;

/// How many decisions are shown of each transition, the newest: enough to see what they have in common. There
/// are twelve transitions at the most.
const SAMPLES_PER_TRANSITION: u64 = 5;

/// Decisions that were compared.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = PolicyFlips)]
pub struct Flips {
    /// Decisions that were compared.
    evaluated: u64,
    /// Those that would have been others.
    changed: u64,
    /// Those that were not denied and would have been.
    would_have_denied: u64,
    /// Events that are no decisions which could be compared.
    skipped: u64,
    /// How many became what: `allow->deny` and so on.
    #[schema(example = json!({"allow->deny": 12}))]
    by_transition: BTreeMap<String, u64>,
    /// The newest of each transition, at most 5.
    samples: Vec<Flip>,
}

/// A decision that would have been another.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PolicyFlip)]
pub struct Flip {
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
    #[schema(value_type = String, example = "allow")]
    was: Verdict,
    #[schema(value_type = String, example = "deny")]
    would_be: Verdict,
    /// Why it would be; not known of a shadow, which records only what.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Flips {
    /// Counts a decision; `reason` says why it would be so.
    pub fn count(&mut self, decision: &Recorded, would_be: Verdict, reason: Option<&str>) {
        let was = decision.said;
        self.evaluated += 1;
        if was == would_be {
            return;
        }
        self.changed += 1;
        self.would_have_denied += u64::from(would_be == Verdict::Deny);
        let transition = format!("{}->{}", was.as_str(), would_be.as_str());
        let so_many = self.by_transition.entry(transition).or_default();
        *so_many += 1;
        if *so_many <= SAMPLES_PER_TRANSITION {
            self.samples.push(Flip {
                decision_id: decision.decision_id(),
                at: decision.id.time(),
                principal: name(&decision.question.principal),
                action: decision.question.action.clone(),
                resource: name(&decision.question.resource),
                was,
                would_be,
                reason: reason.map(ToOwned::to_owned),
            });
        }
    }

    /// Counts an event that cannot be compared.
    pub fn skip(&mut self) {
        self.skipped += 1;
    }
}

fn name(party: &Party) -> String {
    format!("{}:{}", party.kind, party.id)
}
