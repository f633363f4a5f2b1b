//! The command that an agent's settings name: `watchbell hook run`, with what else it needs to know.

use anyhow::ensure;
use clap::Args;

use super::{
    WAIT_S_MAX,
    agent::{Agent, OnAllow},
};
use crate::{exit, server::base_url};

/// What turns every failure of a hook into the one that blocks a call: also that the program is not there.
const OR_BLOCK: &str = "|| exit 2";

#[derive(Clone, Debug, Args)]
pub struct HookCommand {
    /// Server URL. Without it the hook asks the one in WATCHBELL_URL, or else the one saved by `login`.
    #[arg(long)]
    pub(super) url: Option<String>,
    /// The agent that acts: `Agent::"ID"` in policies. Defaults to the name of the agent.
    #[arg(long, value_name = "ID")]
    pub(super) agent_id: Option<String>,
    /// Whether an allowed call skips the agent's own prompt, if the agent lets a hook do that.
    #[arg(long, value_enum, default_value_t)]
    pub(super) on_allow: OnAllow,
    /// How many seconds an escalated call waits for someone to approve it.
    #[arg(long, default_value_t = WAIT_S_MAX, value_parser = clap::value_parser!(u64).range(..=WAIT_S_MAX), value_name = "SECONDS")]
    pub(super) wait: u64,
    /// The program, if the agent does not find it by its name.
    #[arg(long, default_value = "watchbell", value_name = "PATH")]
    pub(super) program: String,
}

/// Before a tool runs, or after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Before,
    After,
}

impl HookCommand {
    /// As a shell reads it.
    pub(super) fn line(&self, agent: Agent, moment: Moment) -> anyhow::Result<String> {
        let mut words = vec![self.program.as_str(), "hook", "run", agent.name()];
        if moment == Moment::After {
            words.push("--after");
        }
        if let Some(url) = &self.url {
            base_url(url)?;
            words.extend(["--url", url]);
        }
        if let Some(id) = &self.agent_id {
            words.extend(["--agent-id", id]);
        }
        let wait = self.wait.to_string();
        if moment == Moment::Before {
            if self.on_allow != OnAllow::default() {
                words.extend(["--on-allow", self.on_allow.name()]);
            }
            if self.wait != WAIT_S_MAX {
                words.extend(["--wait", &wait]);
            }
        }
        let is_printable = words.iter().all(|word| !word.contains(char::is_control));
        ensure!(
            is_printable,
            exit::usage("an option has a control character in it")
        );
        let mut quoted: Vec<String> = words.into_iter().map(quoted).collect();
        if moment == Moment::Before {
            quoted.push(OR_BLOCK.to_owned());
        }
        Ok(quoted.join(" "))
    }
}

/// Whether a command of somebody's settings blocks a call if it fails.
pub(super) fn blocks(command: &str) -> bool {
    command.trim_end().ends_with(OR_BLOCK)
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@%+=,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(agent_id: &str) -> HookCommand {
        HookCommand {
            url: Some("https://watchbell.example.com".to_owned()),
            agent_id: Some(agent_id.to_owned()),
            on_allow: OnAllow::Pass,
            wait: 5,
            program: "watchbell".to_owned(),
        }
    }

    #[test]
    fn the_command_is_one_that_a_shell_reads_and_that_fails_as_a_block() {
        let before = command("Ann's agent").line(Agent::Codex, Moment::Before);
        let before = before.expect("a command");
        assert_eq!(
            before,
            r"watchbell hook run codex --url https://watchbell.example.com --agent-id 'Ann'\''s agent' --wait 5 || exit 2"
        );
        assert!(blocks(&before));
        let after = command("a").line(Agent::Gemini, Moment::After);
        let after = after.expect("a command");
        assert_eq!(
            after,
            "watchbell hook run gemini --after --url https://watchbell.example.com --agent-id a"
        );
        assert!(!blocks(&after));
        assert!(command("a\nb").line(Agent::Codex, Moment::Before).is_err());
    }
}
