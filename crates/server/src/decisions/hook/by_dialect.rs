//! `POST /v1/hooks/{dialect}/before` and `/after`: the same for agents whose hooks are commands, which `watchbell hook run`
//! stands for. It sees the status, and lets no tool run without an answer; so a refusal is one here.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use domain::batch::BODY_BYTES_MAX;
use serde_json::Value;

use super::{
    after::record,
    before::decided,
    dialects::Dialect,
    params::{DialectOptions, DialectParams},
};
use crate::{
    edge::{
        Caller, Problem,
        caller::{DecisionsWrite, EventsWrite},
        enums::HookDialect,
        extract::Fields,
        strict_json::StrictJson,
    },
    planes::DataPlane,
};

/// Answers the hook of a coding agent according to the organization's policies, in the agent's own words.
///
/// The body is what the agent hands to a hook before a tool runs, and the response is what it reads from one.
/// `watchbell hook run` passes both on. The call is a question like one to `/v1/runtime/decisions`, as it is at
/// `/v1/hooks/claude-code/pre-tool-use`.
#[utoipa::path(
    post, path = "/v1/hooks/{dialect}/before", tag = "hooks",
    security(("api_key" = ["decisions:write"])),
    params(("dialect" = inline(HookDialect), Path, description = "The agent"), DialectParams),
    request_body(content = Fields, description = "What the agent hands to the hook"),
    responses(
        (status = 200, description = "Decided and recorded", body = Fields),
        (status = 204, description = "The same; the call goes on (`docker-mcp`)"),
    ),
)]
pub async fn before(
    State(plane): State<DataPlane>,
    caller: Caller<DecisionsWrite>,
    dialect: Dialect,
    wanted: DialectOptions,
    StrictJson(Fields(body)): StrictJson<Fields, BODY_BYTES_MAX>,
) -> Result<Response, Problem> {
    let hook = dialect
        .asked(body)
        .map_err(|fault| Problem::invalid(vec![fault]))?;
    let DialectOptions(wanted) = wanted;
    let answer = decided(&plane, &caller, (dialect, &wanted), &hook).await?;
    Ok(match dialect.says(answer, &hook) {
        Some(said) => Json(said).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// Records what the hook of a coding agent tells of a tool that ran or failed, as an audit event.
///
/// The body is what the agent hands to a hook after a tool ran. The event is a `tool_call`, as it is at
/// `/v1/hooks/claude-code/post-tool-use`.
#[utoipa::path(
    post, path = "/v1/hooks/{dialect}/after", tag = "hooks",
    security(("api_key" = ["events:write"])),
    params(("dialect" = inline(HookDialect), Path, description = "The agent"), DialectParams),
    request_body(content = Fields, description = "What the agent hands to the hook"),
    responses(
        (status = 200, description = "Recorded", body = Fields),
        (status = 204, description = "The same (`docker-mcp`)"),
    ),
)]
pub async fn after(
    State(plane): State<DataPlane>,
    caller: Caller<EventsWrite>,
    dialect: Dialect,
    wanted: DialectOptions,
    StrictJson(Fields(body)): StrictJson<Fields, BODY_BYTES_MAX>,
) -> Result<Response, Problem> {
    let told = dialect.told(body);
    let (hook, result) = told.map_err(|fault| Problem::invalid(vec![fault]))?;
    let agent_id = wanted.0.agent(dialect);
    caller.speaks_for(agent_id)?;
    let call = hook.of(agent_id)?;
    record(&plane, (caller.org, caller.source()), &call, result).await?;
    Ok(if dialect == Dialect::DockerMcp {
        // A body would take the place of the result.
        StatusCode::NO_CONTENT.into_response()
    } else {
        Json(Value::Object(serde_json::Map::new())).into_response()
    })
}
