//! Makes the decisions in an export again, by the policies in it.

use std::collections::{BTreeSet, HashMap};

use domain::event::reserved::DECISION;
use policy::{
    PolicySet,
    recorded::{Differs, NotADecision, Recorded},
};
use serde::Deserialize;
use serde_json::{Value, json};
use trail_proof::{export::Line, leaf::Kind};

/// What is told one by one; the rest is counted.
const TOLD_MAX: usize = 100;

/// What came of it so far.
#[derive(Default)]
pub(super) struct Replay {
    /// By digest; `None` if the policies cannot be read.
    policies: HashMap<String, Option<PolicySet>>,
    same: u64,
    different: u64,
    /// Made by policies that look at the payload, which is not recorded.
    of_payloads: u64,
    /// Denied without asking the policies, because too many others were asked.
    not_asked: u64,
    /// Of what cannot be made again: no decision of Watchbell's, or its policies are not in the file before it.
    left_out: u64,
    missing: BTreeSet<String>,
    /// What differs, and what is left out.
    told: Vec<String>,
}

#[derive(Deserialize)]
struct EventType {
    event_type: String,
}

impl Replay {
    pub(super) fn take(&mut self, line: &Line<'_>) {
        match line {
            Line::Policy(policy) => {
                let set = PolicySet::read(&policy.text, policy.schema.as_deref()).ok();
                self.policies.insert(policy.digest.to_string(), set);
            }
            Line::Record {
                kind: Kind::Event,
                stored,
                ..
            } => {
                let event: Result<EventType, _> = serde_json::from_str(stored);
                if event.is_ok_and(|event| event.event_type == DECISION) {
                    self.replay(stored);
                }
            }
            _ => {}
        }
    }

    fn replay(&mut self, json: &str) {
        let decision = match Recorded::read(json) {
            Ok(decision) => decision,
            Err(NotADecision::NotAsked) => {
                self.not_asked += 1;
                return;
            }
            Err(reason) => {
                self.left_out += 1;
                return self.note(format!("a decision cannot be replayed: {reason}"));
            }
        };
        let id = decision.decision_id();
        let Some(Some(policies)) = self.policies.get(&decision.digest) else {
            self.left_out += 1;
            self.missing.insert(decision.digest);
            return;
        };
        match decision.check_again(policies) {
            Ok(()) => self.same += 1,
            Err(Differs::PayloadUnknown) => self.of_payloads += 1,
            Err(Differs::Unaskable(problem)) => {
                self.different += 1;
                self.note(format!(
                    "{id}: the question cannot be asked again: {problem}"
                ));
            }
            Err(Differs::Otherwise(now)) => {
                self.different += 1;
                let (said, says) = (decision.said.as_str(), now.verdict.as_str());
                self.note(format!(
                    "{id}: recorded as {said}, but its policies say {says}"
                ));
            }
        }
    }

    fn note(&mut self, what: String) {
        if self.told.len() < TOLD_MAX {
            self.told.push(what);
        }
    }

    /// Whether every decision that can be made again came out as it was recorded.
    pub(super) fn is_same(&self) -> bool {
        self.different == 0 && self.left_out == 0
    }

    pub(super) fn tell<E>(&self, mut say: impl FnMut(String) -> Result<(), E>) -> Result<(), E> {
        for one in &self.told {
            say(one.clone())?;
        }
        for digest in &self.missing {
            say(format!("the policies {digest} are not in the file"))?;
        }
        say(format!(
            "decisions made again: {} the same, {} different, {} that cannot be replayed, {} by policies that look at \
             payloads, {} denied without asking the policies",
            self.same, self.different, self.left_out, self.of_payloads, self.not_asked
        ))
    }

    pub(super) fn as_json(&self) -> Value {
        json!({
            "same": self.same, "different": self.different, "left_out": self.left_out,
            "of_payloads": self.of_payloads, "not_asked": self.not_asked,
            "policies_missing": self.missing, "told": self.told,
        })
    }
}
