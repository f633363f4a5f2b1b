//! Claude Code's settings, with our address in them: it posts to the server by itself.

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use url::Url;

use super::{TIMEOUT_S, WAIT_S_MAX, agent::OnAllow, command::HookCommand, settings};

#[derive(Debug, Args)]
pub struct ClaudeCode {
    /// The server's public URL (`http.public_url`).
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: String,
    /// The agent that acts: `Agent::"<agent-id>"` in policies.
    #[arg(long, default_value = "claude-code")]
    agent_id: String,
    /// The environment variable that holds the API key when Claude Code runs.
    #[arg(long, default_value = "WATCHBELL_API_KEY", value_name = "NAME")]
    key_variable: String,
    /// Whether an allowed call skips Claude Code's own prompt.
    #[arg(long, value_enum, default_value_t)]
    on_allow: OnAllow,
    /// What happens to a call for which no decision could be made.
    #[arg(long, value_enum, default_value_t)]
    on_error: OnError,
    /// How many seconds an escalated call waits for someone to approve it; 0 asks the person at the terminal where Claude
    /// Code would prompt them, and denies otherwise.
    #[arg(long, default_value_t = WAIT_S_MAX, value_parser = clap::value_parser!(u64).range(..=WAIT_S_MAX), value_name = "SECONDS")]
    wait: u64,
    /// Print hooks that are commands (`watchbell hook run`) instead of addresses: for Claude Code before 2.1.295, which goes on
    /// when an address has no answer.
    #[arg(long, conflicts_with_all = ["on_error", "key_variable"])]
    command: bool,
    /// Print them for the settings that an administrator writes, which people cannot switch off.
    #[arg(long)]
    managed: bool,
}

/// What becomes of a call that could not be decided about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum OnError {
    #[default]
    Deny,
    Ask,
    Pass,
}

impl OnError {
    const fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Pass => "pass",
        }
    }
}

impl ClaudeCode {
    pub(super) fn settings(&self) -> anyhow::Result<String> {
        let mut printed = if self.command {
            settings::claude_code(&self.hook_command())?
        } else {
            self.hooks()?
        };
        if self.managed {
            printed["allowManagedHooksOnly"] = json!(true);
            if !self.command {
                let base = self.url.trim_end_matches('/');
                printed["allowedHttpHookUrls"] = json!([format!("{base}/v1/hooks/*")]);
                printed["httpHookAllowedEnvVars"] = json!([self.key_variable]);
            }
        }
        Ok(settings::json(&printed))
    }

    fn hook_command(&self) -> HookCommand {
        HookCommand {
            url: Some(self.url.clone()),
            agent_id: Some(self.agent_id.clone()),
            on_allow: self.on_allow,
            wait: self.wait,
            program: "watchbell".to_owned(),
        }
    }

    fn hooks(&self) -> anyhow::Result<Value> {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        ensure!(
            !self.key_variable.is_empty() && self.key_variable.chars().all(is_name),
            "--key-variable must be the name of an environment variable, not its value"
        );
        let mut before = self.entry(&self.address("pre-tool-use", true)?);
        if self.on_error != OnError::Pass {
            // Without it Claude Code goes on when there is no answer. Versions before 2.1.295 do so with it, too.
            before["onFailure"] = json!("block");
        }
        let after = self.entry(&self.address("post-tool-use", false)?);
        let every_tool = |hook: &Value| json!([{"matcher": "*", "hooks": [hook]}]);
        Ok(json!({"hooks": {
            "PreToolUse": every_tool(&before),
            "PostToolUse": every_tool(&after),
            "PostToolUseFailure": every_tool(&after),
        }}))
    }

    fn address(&self, what: &str, is_asked: bool) -> anyhow::Result<Url> {
        let base = self.url.trim_end_matches('/');
        let mut url = Url::parse(&format!("{base}/v1/hooks/claude-code/{what}"))
            .context("--url is not a URL")?;
        ensure!(
            ["http", "https"].contains(&url.scheme()),
            "--url must start with http:// or https://"
        );
        let mut query = url.query_pairs_mut();
        query.append_pair("agent_id", &self.agent_id);
        if is_asked {
            query.append_pair("on_allow", self.on_allow.name());
            query.append_pair("on_error", self.on_error.name());
            query.append_pair("wait", &self.wait.to_string());
        }
        drop(query);
        Ok(url)
    }

    /// The key stays in the environment: the settings may be shared.
    fn entry(&self, url: &Url) -> Value {
        let variable = &self.key_variable;
        json!({
            "type": "http",
            "url": url.as_str(),
            "headers": {"Authorization": format!("Bearer ${{{variable}}}")},
            "allowedEnvVars": [variable],
            "timeout": TIMEOUT_S,
        })
    }
}
