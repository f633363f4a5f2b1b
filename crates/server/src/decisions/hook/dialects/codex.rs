//! Codex: its hooks have the names of Claude Code's. What it takes for an answer is less: `ask` and a mere `allow` are errors
//! to it, after which it goes on. Changing what a tool is called with takes an `allow`; Codex's own approvals still apply.

use domain::fault::Fault;
use serde_json::{Map, Value};

use super::{
    super::{
        answer::{Answer, Permission},
        call::HookCall,
    },
    CallResult, claude_code, event, read,
};

pub(super) fn told(body: Map<String, Value>) -> Result<(HookCall, CallResult), Fault> {
    event(&body, &["PostToolUse"])?;
    Ok((read(body)?, CallResult::Success))
}

pub(super) fn says(answer: Answer) -> Value {
    let permission = match answer.permission {
        Some(Permission::Deny | Permission::Ask) => Some(Permission::Deny),
        Some(Permission::Allow) | None => answer.input.is_some().then_some(Permission::Allow),
    };
    let input = answer
        .input
        .filter(|_| permission == Some(Permission::Allow));
    claude_code::says(Answer {
        permission,
        input,
        ..answer
    })
}
