//! Questions of MCP gateways, in the shape that COAZ-MCP gives them (Draft 1): a person on whose behalf an agent calls a tool.
//!
//! The person is the subject, the agent is in the context, and every call is one and the same action. Policies see it like that. In
//! the trail, where rules and counts go by agent and action, an event names the agent and the tool.

use domain::event::sanitize;
use serde_json::Value;

use super::request::EvaluationRequest;

/// The type of a subject that a token names.
const IDENTITY: &str = "identity";
/// Where the agent is then.
const AGENT: &str = "agent";
const TOOLS_CALL: &str = "tools/call";
const TOOL: &str = "tool";
/// The area of calls of MCP tools, as hooks and guards name them too.
const AREA: &str = "mcp";

/// The agent that acts for the subject, if the question says so.
pub(super) fn agent(request: &EvaluationRequest) -> Option<&str> {
    let agent = request
        .context
        .as_ref()?
        .get(AGENT)
        .and_then(Value::as_str)?;
    (request.subject.kind == IDENTITY && !agent.is_empty()).then_some(agent)
}

/// `mcp.<tool>`, if a tool is to be called.
pub(super) fn action(request: &EvaluationRequest) -> Option<String> {
    let is_call = request.action.name == TOOLS_CALL && request.resource.kind == TOOL;
    let tool = request.resource.id.to_lowercase();
    is_call.then(|| sanitize::in_area(AREA, [tool.as_str()]))
}
