//! `POST /v1/hooks/claude-code/pre-tool-use`: may this tool run?

use std::sync::Arc;

use axum::{Json as JsonAnswer, extract::State};
use domain::{batch::BODY_BYTES_MAX, fault::Fault};
use policy::payload::bytes_up_to;

use super::{
    after::record,
    answer::Answer,
    call::{HookCall, RESOURCES_MAX, ToolCall},
    dialects::{
        CallResult, Dialect,
        claude_code::{BEFORE, HookAnswer},
    },
    params::{HookOptions, HookParams},
    wait::strictest,
};
use crate::{
    decisions::{
        answer::{Unanswered, answer_call},
        request::{Ask, Asker},
    },
    edge::{Caller, Problem, caller::DecisionsWrite, strict_json::StrictJson},
    planes::DataPlane,
};

/// Answers a `PreToolUse` hook of Claude Code according to the organization's policies.
///
/// The call is a question like one to `/v1/runtime/decisions`: `deny` stops the tool, `escalate` asks the person at the
/// terminal or, with `wait`, someone who may approve, and `modify` changes the tool's input. A call that works on
/// several things is a question about each, and the strictest answer counts. A call whose content does not allow a
/// decision is denied. Other hook events are answered with `{}`. `watchbell hook claude-code` prints the settings.
#[utoipa::path(
    post, path = "/v1/hooks/claude-code/pre-tool-use", tag = "hooks",
    security(("api_key" = ["decisions:write"])),
    params(HookParams),
    request_body = HookCall,
    responses(
        (status = 200, description = "Decided and recorded; with `on_error`, also when it was not", body = HookAnswer),
    ),
)]
pub async fn before(
    State(plane): State<DataPlane>,
    caller: Caller<DecisionsWrite>,
    wanted: HookOptions,
    StrictJson(hook): StrictJson<HookCall, BODY_BYTES_MAX>,
) -> Result<JsonAnswer<HookAnswer>, Problem> {
    if hook.hook_event_name != BEFORE {
        return Ok(JsonAnswer(HookAnswer::default()));
    }
    let answer = decided(&plane, &caller, (Dialect::ClaudeCode, &wanted), &hook).await?;
    Ok(JsonAnswer(answer.into()))
}

/// What is answered about a call, whoever asks.
pub(super) async fn decided(
    plane: &DataPlane,
    caller: &Caller<DecisionsWrite>,
    (dialect, wanted): (Dialect, &HookOptions),
    hook: &HookCall,
) -> Result<Answer, Problem> {
    let agent_id = wanted.agent(dialect);
    caller.speaks_for(agent_id)?;
    let call = hook.of(agent_id)?;
    let asks = match asks(&call) {
        Ok(asks) => asks,
        Err(faults) => {
            // There is no decision to record; that it was tried is on record all the same.
            let denied = record(
                plane,
                (caller.org, caller.source()),
                &call,
                CallResult::Denied,
            );
            if let Err(problem) = denied.await {
                let code = problem.code().as_str();
                tracing::error!(code, "could not record a denied hook call in the trail");
            }
            return Ok(undecided(&faults));
        }
    };
    let answered = async {
        let asker = Asker::of(caller);
        let answers = answer_call(plane, asker, &asks).await?;
        strictest(plane, asker, asks, answers, wanted.wait).await
    };
    match answered.await {
        Ok(answer) => Ok(Answer::of(
            answer,
            wanted.on_allow,
            dialect.nobody_asked(hook),
        )),
        Err(Unanswered::Unrecordable(fault)) => Ok(undecided(&[fault])),
        Err(Unanswered::Problem(problem)) => Err(problem),
    }
}

/// A question about each thing that the call works on: judged by one of them, the others would pass unseen.
fn asks(call: &ToolCall<'_>) -> Result<Vec<Ask>, Vec<Fault>> {
    let resources = call.resources();
    let payload = call.payload();
    // Each question takes as long as the call is large.
    let room = BODY_BYTES_MAX / resources.len();
    let is_large = payload.is_some_and(|payload| bytes_up_to(payload, room) == room);
    let detail = if resources.len() > RESOURCES_MAX {
        format!(
            "A call can work on at most {RESOURCES_MAX} files and addresses. Make several calls."
        )
    } else if resources.len() > 1 && is_large {
        format!(
            "A call that works on several files or addresses can be at most {BODY_BYTES_MAX} bytes, counted once for \
             each of them. Make several calls."
        )
    } else {
        let payload = payload.cloned().map(Arc::new);
        let questions = call.questions(&resources).into_iter().zip(resources);
        let asks = questions.map(|(question, resource)| {
            let ask = Ask::new(question, call.named(resource));
            ask.map(|ask| ask.about_to_send(payload.clone()))
        });
        return asks.collect();
    };
    Err(vec![Fault::invalid("/tool_input", detail)])
}

/// A call that policies cannot be asked about, or whose decision cannot be recorded, for what is in it: whoever makes
/// the call must not get it through by that.
fn undecided(faults: &[Fault]) -> Answer {
    let why: Vec<String> = faults.iter().map(Fault::to_string).collect();
    let why = why.join(" ");
    tracing::warn!(
        why,
        "denied a hook call: its content does not allow a decision"
    );
    Answer::denies(format!("Watchbell cannot decide on this call: {why}"))
}
