//! `POST /v1/hooks/claude-code/post-tool-use`: a tool ran, or failed; the trail is told.

use axum::{Json as JsonAnswer, extract::State};
use domain::{
    OrgId,
    batch::BODY_BYTES_MAX,
    event::{Source, accept::Arrival, sanitize},
    id::Tail,
};
use journal::{frames::Frames, system_events};
use policy::fit::{self, Kept};
use runtime::random;
use serde::Serialize;
use serde_json::Value;

use super::{
    answer::Permission,
    call::{HookCall, ToolCall},
    dialects::{
        CallResult, Dialect,
        claude_code::{self, BEFORE, HookAnswer},
    },
    params::{HookOptions, HookParams},
};
use crate::{
    decisions::request::Named,
    edge::{Caller, Problem, caller::EventsWrite, strict_json::StrictJson},
    planes::DataPlane,
};

/// The longest of the short texts that are kept beside the call.
const TEXT_CHARS_MAX: usize = 256;

/// The audit event that a tool call is. What the tool was called with and what it answered may be secret, or
/// large, and is of no use to most who read the trail: their hashes are kept.
#[derive(Serialize)]
struct ToolCallEvent {
    event_type: &'static str,
    #[serde(flatten)]
    named: Named,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<f64>,
    metadata: ToolCallMetadata,
}

#[derive(Serialize)]
struct ToolCallMetadata {
    tool_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<String>,
    /// That of the decision's event about the same call, the first if it works on several things.
    request_digest: String,
    tool_input: Kept,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_response: Option<Kept>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Kept>,
}

/// Records a `PostToolUse` or `PostToolUseFailure` hook of Claude Code as an audit event.
///
/// The event is a `tool_call` with the result `success` or `error`. Only hashes of the tool's input and output are
/// recorded. Other hook events are answered with `{}` and not recorded.
#[utoipa::path(
    post, path = "/v1/hooks/claude-code/post-tool-use", tag = "hooks",
    security(("api_key" = ["events:write"])),
    params(HookParams),
    request_body = HookCall,
    responses(
        (status = 200, description = "Recorded, or there was nothing to record", body = HookAnswer),
    ),
)]
pub async fn after(
    State(plane): State<DataPlane>,
    caller: Caller<EventsWrite>,
    wanted: HookOptions,
    StrictJson(hook): StrictJson<HookCall, BODY_BYTES_MAX>,
) -> Result<JsonAnswer<HookAnswer>, Problem> {
    // A question that nobody answered would pass for a yes.
    if hook.hook_event_name == BEFORE {
        let reason = "PreToolUse hooks go to .../pre-tool-use; this is .../post-tool-use.";
        return Ok(JsonAnswer(HookAnswer::says(Permission::Deny, reason)));
    }
    let Some(result) = claude_code::result(&hook.hook_event_name) else {
        return Ok(JsonAnswer(HookAnswer::default()));
    };
    let agent_id = wanted.agent(Dialect::ClaudeCode);
    caller.speaks_for(agent_id)?;
    let call = hook.of(agent_id)?;
    record(&plane, (caller.org, caller.source()), &call, result).await?;
    Ok(JsonAnswer(HookAnswer::default()))
}

/// Tells the trail what became of a call.
pub(super) async fn record(
    plane: &DataPlane,
    (org, source): (OrgId, Source),
    call: &ToolCall<'_>,
    result: CallResult,
) -> Result<(), Problem> {
    let arrival = Arrival {
        org,
        source,
        received_at: plane.clock.now(),
        retention: plane.retention,
    };
    let event = ToolCallEvent::of(call, result);
    let mut frames = Frames::default();
    system_events::write(&mut frames, Tail::Random(random::bytes()), &arrival, &event)
        .map_err(|fault| Problem::invalid(vec![fault]))?;
    let bytes = frames.bytes() as u64;
    let budget = &plane.budget;
    budget.spend_on_events(org, bytes, arrival.received_at)?;
    plane.append(org, frames).await
}

impl ToolCallEvent {
    fn of(call: &ToolCall<'_>, result: CallResult) -> Self {
        let hook = call.hook;
        let short = |text: &str| sanitize::text(text, TEXT_CHARS_MAX);
        let error_code = match (result, hook.is_interrupt) {
            (CallResult::Error, Some(true)) => Some("interrupted"),
            (CallResult::Error, _) => Some("tool_error"),
            _ => None,
        };
        Self {
            event_type: "tool_call",
            named: call.named(call.resource()),
            result: result.as_str(),
            error_code,
            latency_ms: hook.duration_ms.filter(|ms| *ms >= 0.0),
            metadata: ToolCallMetadata {
                tool_name: short(call.tool_name),
                tool_use_id: hook.tool_use_id.as_deref().and_then(short),
                request_digest: call.question(call.resource()).digest(call.payload()),
                tool_input: fit::digest(&hook.tool_input),
                tool_response: hook.tool_response.as_ref().map(fit::digest),
                error: hook
                    .error
                    .as_ref()
                    .map(|text| fit::digest(&Value::from(&**text))),
            },
        }
    }
}
