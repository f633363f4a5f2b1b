//! Claude Code, and agents that are built with its SDK: the names of their hooks are those that [`HookCall`] has.

use domain::fault::Fault;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    super::{
        answer::{Answer, Permission},
        call::HookCall,
    },
    CallResult, as_json, event, read,
};
use crate::edge::enums::HookEventAnswered;

/// The event that is a question.
pub const BEFORE: &str = "PreToolUse";

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
    updated_input: Option<Map<String, Value>>,
}

impl HookAnswer {
    pub fn says(permission: Permission, reason: &str) -> Self {
        Self {
            hook_specific_output: Some(BeforeTool {
                hook_event_name: BEFORE,
                permission_decision: permission,
                permission_decision_reason: reason.chars().take(REASON_CHARS_MAX).collect(),
                updated_input: None,
            }),
        }
    }
}

impl From<Answer> for HookAnswer {
    fn from(answer: Answer) -> Self {
        // With nothing said, what becomes of the new input is not documented; so the person sees it.
        let asked = answer.input.is_some().then_some(Permission::Ask);
        let Some(permission) = answer.permission.or(asked) else {
            return Self::default();
        };
        let mut said = Self::says(permission, &answer.reason);
        if let Some(output) = &mut said.hook_specific_output {
            output.updated_input = answer.input;
        }
        said
    }
}

/// What a tool that ran, or failed, is recorded as; `None` for any other event.
pub fn result(event: &str) -> Option<CallResult> {
    match event {
        "PostToolUse" => Some(CallResult::Success),
        "PostToolUseFailure" => Some(CallResult::Error),
        _ => None,
    }
}

/// Whether Claude Code asks the person at the terminal if it is told to. In other modes it may go on by itself, or not do
/// as it is told.
pub fn nobody_asked(call: &HookCall) -> Option<&'static str> {
    (call.permission_mode.as_deref() != Some("default")).then_some(NOBODY_ASKED)
}

pub(super) fn asked(body: Map<String, Value>) -> Result<HookCall, Fault> {
    event(&body, &[BEFORE])?;
    read(body)
}

pub(super) fn told(body: Map<String, Value>) -> Result<(HookCall, CallResult), Fault> {
    event(&body, &["PostToolUse", "PostToolUseFailure"])?;
    let call: HookCall = read(body)?;
    let result = result(&call.hook_event_name).unwrap_or(CallResult::Error);
    Ok((call, result))
}

pub(super) fn says(answer: Answer) -> Value {
    as_json(&HookAnswer::from(answer))
}
