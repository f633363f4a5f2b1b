//! What settings say is to run at an event, and which of it is ours.

use serde_json::Value;

use super::super::{agent::Agent, command::blocks};

/// Something that runs at an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handler<'a> {
    /// For which tools; all if there is none.
    matcher: Option<&'a str>,
    of: &'a Value,
}

/// Those of an event, in both shapes that there are: in groups with a matcher, or alone.
pub(super) fn at<'a>(settings: &'a Value, event: &str) -> Vec<Handler<'a>> {
    let entries = settings["hooks"][event].as_array().into_iter().flatten();
    let mut handlers = Vec::new();
    for entry in entries {
        let matcher = entry["matcher"].as_str();
        match entry["hooks"].as_array() {
            Some(group) => handlers.extend(group.iter().map(|of| Handler { matcher, of })),
            None => handlers.push(Handler::alone(entry)),
        }
    }
    handlers
}

impl<'a> Handler<'a> {
    /// One that is in no group, and says itself for which tools it is.
    pub(super) fn alone(of: &'a Value) -> Self {
        let matcher = of["matcher"].as_str();
        Self { matcher, of }
    }

    pub(super) fn command(self) -> Option<&'a str> {
        let line = self.of["command"].as_str();
        line.or_else(|| self.of["bash"].as_str())
    }

    pub(super) fn url(self) -> Option<&'a str> {
        self.of["url"].as_str()
    }

    /// Whether it asks us, or tells us.
    pub(super) fn is_ours(self, agent: Agent) -> bool {
        let command = self.command();
        let runs = |line: &str| line.contains(&format!("hook run {}", agent.name()));
        let posts = |url: &str| url.contains("/v1/hooks/");
        command.is_some_and(runs) || self.url().is_some_and(posts)
    }

    pub(super) fn is_for_every_tool(self) -> bool {
        matches!(self.matcher, None | Some("" | "*" | ".*"))
    }

    /// Whether a call is blocked when there is no answer, if the agent does as its settings say. One that does not wait for the answer
    /// never blocks.
    pub(super) fn blocks(self) -> bool {
        let is_waited_for = self.of["async"] != true;
        is_waited_for
            && match self.command() {
                Some(line) => blocks(line),
                None => self.of["onFailure"] == "block",
            }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn our_hook_is_found_in_both_shapes_and_no_other_is_taken_for_it() {
        let settings = json!({"hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]},
                {"matcher": "*", "hooks": [{"type": "http", "url": "https://w/v1/hooks/claude-code/pre-tool-use",
                                            "onFailure": "block"}]},
            ],
            "preToolUse": [{"command": "watchbell hook run cursor || exit 2"}, {"bash": "watchbell hook run copilot"}],
        }});
        let ours = |event: &str, agent| {
            let found = at(&settings, event).into_iter();
            let found = found.filter(|one| one.is_ours(agent));
            found
                .map(|one| (one.is_for_every_tool(), one.blocks()))
                .collect::<Vec<_>>()
        };
        assert_eq!(at(&settings, "PreToolUse").len(), 2);
        assert_eq!(ours("PreToolUse", Agent::ClaudeCode), [(true, true)]);
        assert_eq!(ours("preToolUse", Agent::Cursor), [(true, true)]);
        assert_eq!(ours("preToolUse", Agent::Copilot), [(true, false)]);
        assert!(ours("preToolUse", Agent::Gemini).is_empty());
        let beside = json!({"hooks": {"PreToolUse": [{"hooks": [
            {"type": "command", "command": "watchbell hook run claude-code || exit 2", "async": true}]}]}});
        assert!(!at(&beside, "PreToolUse")[0].blocks());
        assert!(at(&json!({"hooks": "none"}), "PreToolUse").is_empty());
    }
}
