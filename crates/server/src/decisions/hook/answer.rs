//! What is answered before a tool runs, before it is said in the words of an agent.

use policy::Verdict;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::params::OnAllow;
use crate::decisions::answer::DecisionAnswer;

/// What becomes of a call.
#[derive(Debug, Default)]
pub struct Answer {
    /// Nothing is said if `None`: the agent's own permissions decide.
    pub permission: Option<Permission>,
    /// For the model if the call is denied, otherwise for the person.
    pub reason: String,
    /// What to call the tool with instead.
    pub input: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    Allow,
    /// The person at the terminal is asked.
    Ask,
    Deny,
}

impl Answer {
    /// What was decided. Where the person at the terminal cannot be asked, `nobody_asked` says why.
    pub fn of(
        mut answer: DecisionAnswer,
        on_allow: OnAllow,
        nobody_asked: Option<&'static str>,
    ) -> Self {
        let reason = reason(&answer);
        let permission = match (answer.verdict, on_allow, nobody_asked) {
            (Verdict::Deny, ..) => return Self::denies(reason),
            (Verdict::Escalate, _, Some(why)) => return Self::denies(format!("{reason} {why}")),
            // The person is asked about what would be permitted, not about what the agent wanted.
            (Verdict::Escalate, _, None) => Some(Permission::Ask),
            (Verdict::Allow | Verdict::Modify, OnAllow::Allow, _) => Some(Permission::Allow),
            (Verdict::Allow | Verdict::Modify, OnAllow::Pass, _) => None,
        };
        let input = match answer.take_changed_payload() {
            Some(Value::Object(input)) => Some(input),
            None if answer.verdict != Verdict::Modify => None,
            // A tool is called with an object. Without one the call must not go on as it is.
            _ => return Self::denies(reason),
        };
        Self {
            permission,
            reason,
            input,
        }
    }

    pub fn denies(reason: impl Into<String>) -> Self {
        Self {
            permission: Some(Permission::Deny),
            reason: reason.into(),
            input: None,
        }
    }
}

/// The reason, the policies behind it and the decision's id, by which it is found in the trail.
fn reason(answer: &DecisionAnswer) -> String {
    let decided = &answer.decided;
    let policies: Vec<&str> = decided.policies.iter().map(|one| &*one.id).collect();
    let policies = match policies.as_slice() {
        [] => String::new(),
        [only] => format!("policy {only}, "),
        many => format!("policies {}, ", many.join(", ")),
    };
    format!("{} ({policies}{})", decided.reason, answer.decision_id)
}
