//! What Claude Code is answered before a tool runs.

use policy::Verdict;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::params::OnAllow;
use crate::{decisions::answer::DecisionAnswer, edge::enums::HookEventAnswered};

/// The longest reason: Claude Code cuts longer texts, and nobody reads them.
const REASON_CHARS_MAX: usize = 1000;

/// What is said where a person would have to be asked, and Claude Code might not.
const NOBODY_ASKED: &str = "In this permission mode Claude Code might not ask anyone, so the call \
                            is denied; add `wait` to the hook's URL so that someone else can approve \
                            it.";

/// Empty, or what to do with the call. If empty, Claude Code's own permissions decide.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<BeforeTool>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BeforeTool {
    #[schema(value_type = HookEventAnswered, example = "PreToolUse")]
    hook_event_name: &'static str,
    permission_decision: Permission,
    /// For Claude if the call is denied, otherwise for the person.
    permission_decision_reason: String,
    /// The input to call the tool with instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    updated_input: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    Allow,
    /// The person at the terminal is asked.
    Ask,
    Deny,
}

impl HookAnswer {
    /// What was decided. `asks_people`: whether the person at the terminal is asked if we say so.
    pub fn of(mut answer: DecisionAnswer, on_allow: OnAllow, asks_people: bool) -> Self {
        let reason = reason(&answer);
        let input = answer.take_changed_payload();
        match (answer.verdict, input) {
            (Verdict::Allow, _) if on_allow == OnAllow::Pass => Self::default(),
            (Verdict::Allow, _) => Self::says(Permission::Allow, &reason),
            (Verdict::Escalate, None) if asks_people => Self::says(Permission::Ask, &reason),
            // The person is asked about what would be permitted, not about what the agent wanted.
            (Verdict::Escalate, input) if asks_people => {
                Self::modified(input, Permission::Ask, &reason)
            }
            (Verdict::Escalate, _) => {
                Self::says(Permission::Deny, &format!("{reason} {NOBODY_ASKED}"))
            }
            (Verdict::Deny, _) => Self::says(Permission::Deny, &reason),
            // With nothing said, what becomes of the new input is not documented; so the person sees it.
            (Verdict::Modify, input) => match on_allow {
                OnAllow::Pass => Self::modified(input, Permission::Ask, &reason),
                OnAllow::Allow => Self::modified(input, Permission::Allow, &reason),
            },
        }
    }

    pub fn says(permission: Permission, reason: &str) -> Self {
        Self {
            hook_specific_output: Some(BeforeTool {
                hook_event_name: "PreToolUse",
                permission_decision: permission,
                permission_decision_reason: reason.chars().take(REASON_CHARS_MAX).collect(),
                updated_input: None,
            }),
        }
    }

    /// A tool is called with an object. Without one the call must not go on as it is.
    fn modified(input: Option<Value>, permission: Permission, reason: &str) -> Self {
        let Some(input) = input.filter(Value::is_object) else {
            return Self::says(Permission::Deny, reason);
        };
        let mut answer = Self::says(permission, reason);
        if let Some(output) = &mut answer.hook_specific_output {
            output.updated_input = Some(input);
        }
        answer
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
