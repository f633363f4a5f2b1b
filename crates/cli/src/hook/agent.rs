//! The agents, by the names that commands and addresses have for them.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Agent {
    ClaudeCode,
    Codex,
    Gemini,
    Copilot,
    Cursor,
    /// Docker's MCP gateway.
    DockerMcp,
}

impl Agent {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
            Self::DockerMcp => "docker-mcp",
        }
    }
}

/// What becomes of a call that is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum OnAllow {
    #[default]
    Pass,
    Allow,
}

impl OnAllow {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Allow => "allow",
        }
    }
}
