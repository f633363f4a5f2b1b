//! A call of a tool, in the words of a question and of an event.

use std::time::Duration;

use domain::{
    DecisionId, Timestamp,
    mcp::{Outcome, ToolCall},
};
use policy::{Question, fit};
use serde_json::{Map, Value, json};

/// How large the arguments may be in a question, as JSON; as large as a hook's.
const INPUT_BYTES_MAX: usize = 7 * 1024;

/// Who calls: what the guard was told when it started, and what the client says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) protocol_version: Option<String>,
    pub(super) client_name: Option<String>,
}

/// A call that is guarded.
#[derive(Debug)]
pub(super) struct GuardedCall {
    agent_id: String,
    action: String,
    /// Without an action of its own nobody can decide about it.
    pub(super) has_action: bool,
    call: ToolCall,
    server: String,
    session_id: String,
    context: Map<String, Value>,
    /// Names the question and the arguments; the decision's event has the same.
    pub(super) request_digest: String,
}

/// How a call ended, in the words of the trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) result: &'static str,
    pub(super) error_code: Option<&'static str>,
}

impl GuardedCall {
    pub(super) fn new((agent_id, server): (&str, &str), session: &Session, call: ToolCall) -> Self {
        let whole = call.action(server);
        let has_action = whole.is_some();
        let action = whole.unwrap_or_else(|| call.action_or_part(server));
        let context = context(server, session, &call);
        let payload = Value::Object(call.arguments.clone());
        let resource = call.resource();
        let question = Question::of_agent(agent_id, &action, Some(&resource), context.clone());
        Self {
            agent_id: agent_id.to_owned(),
            action,
            has_action,
            server: server.to_owned(),
            session_id: session.id.clone(),
            context,
            request_digest: question.digest(Some(&payload)),
            call,
        }
    }

    pub(super) fn tool(&self) -> &str {
        &self.call.tool
    }

    /// The body of `POST /v1/runtime/decisions`.
    pub(super) fn question(&self, approval: Option<DecisionId>) -> Value {
        let mut question = json!({
            "agent_id": self.agent_id,
            "action": self.action,
            "resource": self.call.resource(),
            "context": self.context,
            "payload": self.call.arguments,
            "session_id": self.session_id,
        });
        self.add_trace(&mut question);
        if let Some(approval) = approval {
            question["approval"] = approval.to_string().into();
        }
        question
    }

    /// The event that the call is, now that it has ended. Arguments and result may be secret, or large: their digests are kept.
    pub(super) fn event(
        &self,
        at: Timestamp,
        decision: Option<DecisionId>,
        ending: Ending,
        outcome: Option<&Outcome>,
        latency: Option<Duration>,
    ) -> Value {
        let input = Value::Object(self.call.arguments.clone());
        let mut metadata = json!({
            "mcp_server": self.server,
            "tool_name": self.call.tool,
            "request_digest": self.request_digest,
            "tool_input": fit::digest(&input),
            // Otherwise nobody decided about what is recorded here.
            "assurance": if decision.is_some() { "decided" } else { "observed" },
        });
        if let Some(outcome) = outcome {
            metadata["tool_response"] = json!(fit::digest(outcome.content()));
        }
        let mut event = json!({
            "event_type": "tool_call",
            "occurred_at": at,
            "agent_id": self.agent_id,
            "action": self.action,
            "resource": self.call.resource(),
            "result": ending.result,
            "session_id": self.session_id,
            "metadata": metadata,
        });
        self.add_trace(&mut event);
        if let Some(code) = ending.error_code {
            event["error_code"] = code.into();
        }
        if let Some(id) = decision {
            event["decision_id"] = id.to_string().into();
        }
        if let Some(latency) = latency {
            event["latency_ms"] = (latency.as_secs_f64() * 1000.0).into();
        }
        event
    }

    fn add_trace(&self, object: &mut Value) {
        if let Some(trace) = &self.call.trace {
            object["trace_id"] = trace.trace_id.as_str().into();
            object["span_id"] = trace.span_id.as_str().into();
        }
    }
}

impl Ending {
    pub(super) const DENIED: Self = Self::new("denied", None);
    /// It needs a person's approval, and has none.
    pub(super) const NOT_APPROVED: Self = Self::new("denied", Some("not_approved"));
    /// The tool is not what it was when it was pinned.
    pub(super) const TOOL_CHANGED: Self = Self::new("denied", Some("tool_changed"));
    /// Nobody could decide.
    pub(super) const UNDECIDED: Self = Self::new("denied", Some("undecided"));
    /// The client gave it up.
    pub(super) const CANCELED: Self = Self::new("canceled", None);
    /// The server ended before it answered.
    pub(super) const NO_RESPONSE: Self = Self::new("error", Some("no_response"));

    const fn new(result: &'static str, error_code: Option<&'static str>) -> Self {
        Self { result, error_code }
    }

    pub(super) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Success(_) => Self::new("success", None),
            Outcome::ToolError(_) => Self::new("error", Some("tool_error")),
            Outcome::ProtocolError(_) => Self::new("error", Some("protocol_error")),
            Outcome::InputRequired(_) => Self::new("input_required", None),
        }
    }
}

/// What is asked about a tool that a server lists: would it be denied whatever it is called with? There are no arguments.
pub(super) fn listing_question(
    (agent_id, server): (&str, &str),
    session: &Session,
    tool: &str,
) -> Option<Value> {
    let call = ToolCall::without_arguments(tool)?;
    let mut context = context(server, session, &call);
    context.remove("tool_input");
    context.insert("listing".to_owned(), true.into());
    Some(json!({
        "agent_id": agent_id,
        "action": call.action(server)?,
        "resource": call.resource(),
        "context": context,
        "session_id": session.id,
    }))
}

/// What policies see beside agent, action, resource and arguments. What a hook says of a tool has the same name here.
fn context(server: &str, session: &Session, call: &ToolCall) -> Map<String, Value> {
    let arguments = Value::Object(call.arguments.clone());
    let (input, mut is_cut) = fit::fitted(&arguments, INPUT_BYTES_MAX);
    let protocol_version = call.protocol_version.as_ref();
    let client_name = call.client_name.as_ref();
    let texts = [
        ("tool_name", Some(call.tool.as_str())),
        ("mcp_server", Some(server)),
        (
            "mcp_protocol_version",
            protocol_version
                .or(session.protocol_version.as_ref())
                .map(String::as_str),
        ),
        (
            "mcp_client",
            client_name
                .or(session.client_name.as_ref())
                .map(String::as_str),
        ),
    ];
    let texts = texts
        .into_iter()
        .filter_map(|(name, text)| Some((name, text?)));
    let mut context: Map<String, Value> = texts
        .map(|(name, text)| (name.to_owned(), fit::name(text, &mut is_cut)))
        .collect();
    context.extend(input.map(|input| ("tool_input".to_owned(), input)));
    context.insert("truncated".to_owned(), is_cut.into());
    context
}
