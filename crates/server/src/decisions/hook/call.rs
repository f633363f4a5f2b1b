//! What a hook knows of a tool call, and what that is in our words.

use domain::{
    event::{NAME_CHARS_MAX, RESOURCE_CHARS_MAX, sanitize},
    fault::Fault,
};
use policy::{Party, Question, fit};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    decisions::request::{Named, Run},
    edge::Problem,
};

/// What a hook posts; other fields are ignored, because they differ between versions.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct HookCall {
    #[schema(example = "PreToolUse")]
    pub hook_event_name: String,
    pub session_id: Option<String>,
    pub cwd: Option<String>,
    pub permission_mode: Option<String>,
    /// For a call by a subagent: its type.
    pub agent_type: Option<String>,
    #[schema(example = "Bash")]
    pub tool_name: Option<String>,
    pub tool_use_id: Option<String>,
    #[serde(default)]
    #[schema(value_type = Object)]
    pub tool_input: Value,
    pub tool_response: Option<Value>,
    /// For a call that failed: the error.
    pub error: Option<String>,
    pub is_interrupt: Option<bool>,
    pub duration_ms: Option<f64>,
}

/// These members say what a tool works on, each a text or a list of them, and of which type that is in policies.
const RESOURCES: [(&str, &str); 6] = [
    ("file_path", "file"),
    ("notebook_path", "file"),
    ("path", "file"),
    ("paths", "file"),
    ("url", "url"),
    ("urls", "url"),
];
/// How many things a call may work on: each is a question of its own, evaluated and recorded. What works on more is
/// denied.
pub(super) const RESOURCES_MAX: usize = 8;
/// How large what a tool is called with may be in the question, as JSON: less than half of what the metadata of an
/// event may have, so that there is room for the rest of the decision.
const INPUT_BYTES_MAX: usize = 7 * 1024;
/// The type of what a tool works on that says nothing of it.
const TOOL: &str = "tool";
/// Begins the names of tools of MCP servers: `mcp__<server>__<tool>`.
const MCP: &str = "mcp__";

/// What a tool of an MCP server is called, by the names of both or by its own.
pub fn mcp_tool(names: &[&str]) -> String {
    format!("{MCP}{}", names.join("__"))
}

/// Something that a call works on: its type in policies, and its name.
pub type Resource<'a> = (&'a str, &'a str);

/// A tool call by an agent.
pub struct ToolCall<'a> {
    pub agent_id: &'a str,
    pub tool_name: &'a str,
    pub hook: &'a HookCall,
}

impl HookCall {
    pub fn of<'a>(&'a self, agent_id: &'a str) -> Result<ToolCall<'a>, Problem> {
        let Some(tool_name) = self.tool_name.as_deref() else {
            return Err(Problem::invalid(vec![Fault::required("tool_name")]));
        };
        Ok(ToolCall {
            agent_id,
            tool_name,
            hook: self,
        })
    }
}

impl ToolCall<'_> {
    /// What policies are asked about one of the things that the call works on. The same call makes the same question,
    /// before and after it. What is acted on is never cut, or `resource == ...` would not know it: what is too large for
    /// the record is not asked about.
    pub fn question(&self, (kind, id): Resource<'_>) -> Question {
        Question {
            resource: Party::new(kind, id),
            ..Question::of_agent(self.agent_id, &self.action(), None, self.context())
        }
    }

    /// The same about each of several; what the tool is called with is looked at once.
    pub fn questions(&self, resources: &[Resource<'_>]) -> Vec<Question> {
        let about_one = self.question(self.resource());
        let about = |(kind, id): &Resource<'_>| Question {
            resource: Party::new(kind, id),
            ..about_one.clone()
        };
        resources.iter().map(about).collect()
    }

    /// What is to be done, whole: what `modify` changes, and what an approval is bound to.
    pub fn payload(&self) -> Option<&Value> {
        Some(&self.hook.tool_input).filter(|input| !input.is_null())
    }

    pub fn named(&self, (kind, id): Resource<'_>) -> Named {
        let session_id = self.hook.session_id.as_deref();
        Named {
            agent_id: self.agent_id.to_owned(),
            action: self.action(),
            resource: sanitize::text(&format!("{kind}:{id}"), RESOURCE_CHARS_MAX),
            run: Run {
                session_id: session_id.and_then(|id| sanitize::text(id, NAME_CHARS_MAX)),
                ..Run::default()
            },
        }
    }

    /// `Bash` is `tool.bash`, `mcp__github__create_issue` is `mcp.github.create_issue`.
    fn action(&self) -> String {
        let name = self.tool_name.to_lowercase();
        match name.strip_prefix(MCP) {
            Some(names) => sanitize::in_area("mcp", names.splitn(2, "__")),
            None => sanitize::in_area(TOOL, [name.as_str()]),
        }
    }

    /// The first of them, by which the call goes where one name is all there is.
    pub fn resource(&self) -> Resource<'_> {
        let resources = self.resources();
        resources.first().copied().unwrap_or((TOOL, self.tool_name))
    }

    /// What the call works on, each thing once and at least one; not all if there are more than may be.
    pub fn resources(&self) -> Vec<Resource<'_>> {
        let told = RESOURCES.into_iter().flat_map(|(name, kind)| {
            let texts = match self.hook.tool_input.get(name) {
                Some(Value::Array(items)) => items.as_slice(),
                Some(one) => std::slice::from_ref(one),
                None => &[],
            };
            texts
                .iter()
                .filter_map(move |text| Some((kind, text.as_str()?)))
        });
        let mut found = Vec::new();
        for resource in told {
            if !found.contains(&resource) {
                found.push(resource);
            }
            if found.len() > RESOURCES_MAX {
                break;
            }
        }
        if found.is_empty() {
            found.push((TOOL, self.tool_name));
        }
        found
    }

    fn context(&self) -> Map<String, Value> {
        let hook = self.hook;
        let (input, mut is_cut) = fit::fitted(&hook.tool_input, INPUT_BYTES_MAX);
        let texts = [
            ("tool_name", Some(self.tool_name)),
            ("cwd", hook.cwd.as_deref()),
            ("permission_mode", hook.permission_mode.as_deref()),
            ("session_id", hook.session_id.as_deref()),
            ("agent_type", hook.agent_type.as_deref()),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)));
        let mut context: Map<_, _> = texts
            .map(|(name, text)| (name.to_owned(), fit::name(text, &mut is_cut)))
            .collect();
        context.extend(input.map(|input| ("tool_input".to_owned(), input)));
        context.insert("truncated".to_owned(), Value::Bool(is_cut));
        context
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_named_by_its_tool_and_by_what_it_works_on() {
        for (tool, input, action, resource) in [
            ("Bash", json!({"command": "ls"}), "tool.bash", "tool:Bash"),
            ("Write", json!({"file_path": "/a"}), "tool.write", "file:/a"),
            (
                "Grep",
                json!({"path": "/a", "pattern": "x"}),
                "tool.grep",
                "file:/a",
            ),
            (
                "WebFetch",
                json!({"url": "https://a"}),
                "tool.webfetch",
                "url:https://a",
            ),
            (
                "NotebookEdit",
                json!({"notebook_path": "/n"}),
                "tool.notebookedit",
                "file:/n",
            ),
            (
                "mcp__github__create_issue",
                json!({}),
                "mcp.github.create_issue",
                "tool:mcp__github__create_issue",
            ),
            (
                "mcp__a b__x__y",
                json!(null),
                "mcp.a_b.x__y",
                "tool:mcp__a b__x__y",
            ),
            ("mcp__", json!({"url": 7}), "mcp._", "tool:mcp__"),
        ] {
            let hook =
                json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
            let hook: HookCall = serde_json::from_value(hook).expect("a call");
            let call = hook.of("claude-code").expect("it has a tool");
            let named = call.named(call.resource());
            assert_eq!(named.action, action);
            assert_eq!(named.resource.as_deref(), Some(resource));
            let question = call.question(call.resource());
            assert_eq!(
                call.questions(&[call.resource()]),
                slice::from_ref(&question)
            );
            let asked_about = format!("{}:{}", question.resource.kind, question.resource.id);
            assert_eq!(
                (question.action.as_str(), asked_about.as_str()),
                (action, resource)
            );
        }
    }

    #[test]
    fn nothing_that_a_call_works_on_hides_behind_another() {
        let named = |input: Value| {
            let hook = json!({"hook_event_name": "PreToolUse", "tool_name": "mcp__files__copy", "tool_input": input});
            let hook: HookCall = serde_json::from_value(hook).expect("a call");
            let call = hook.of("claude-code").expect("it has a tool");
            let named = call
                .resources()
                .into_iter()
                .map(|(kind, id)| format!("{kind}:{id}"));
            named.collect::<Vec<_>>()
        };
        let both = json!({"file_path": "/srv/ok", "path": "/etc/shadow"});
        assert_eq!(named(both), ["file:/srv/ok", "file:/etc/shadow"]);
        let kinds = json!({"url": "https://a", "paths": ["/a", "/b", "/a", 5], "path": "/a"});
        assert_eq!(named(kinds), ["file:/a", "file:/b", "url:https://a"]);
        let none = json!({"paths": [], "path": {"a": 1}});
        assert_eq!(named(none), ["tool:mcp__files__copy"]);
        let many: Vec<String> = (0..1_000).map(|number| format!("/{number}")).collect();
        assert_eq!(named(json!({"paths": many})).len(), RESOURCES_MAX + 1);
    }
}
