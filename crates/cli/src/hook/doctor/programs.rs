//! The programs of the agents: where they are, and which version.

use std::{
    env, fs::metadata, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Stdio,
    time::Duration,
};

use tokio::{process::Command, time::timeout};

use super::super::agent::Agent;
use crate::machine::variable;

/// Those that are programs on a machine.
pub(super) const AGENTS: [Agent; 5] = [
    Agent::ClaudeCode,
    Agent::Codex,
    Agent::Gemini,
    Agent::Copilot,
    Agent::Cursor,
];

/// How long a program may take to say its version: some load a megabyte of scripts first.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest version that is shown.
const VERSION_CHARS_MAX: usize = 40;

#[derive(Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
}

/// The agent's program, if it is on the PATH.
pub(super) fn find(agent: Agent) -> Option<Program> {
    let names: &[&str] = match agent {
        Agent::ClaudeCode => &["claude"],
        Agent::Codex => &["codex"],
        Agent::Gemini => &["gemini"],
        Agent::Copilot => &["copilot"],
        Agent::Cursor => &["cursor-agent", "cursor"],
        Agent::DockerMcp => &[],
    };
    let path = variable("PATH")?;
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let candidates = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let path = candidates.into_iter().find(|path| {
        metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    })?;
    Some(Program { path })
}

impl Program {
    /// The first word of what it says that begins with a digit: `2.1.328` of `2.1.328 (Claude Code)`.
    pub(super) async fn version(&self) -> Option<String> {
        let output = Command::new(&self.path)
            .arg("--version")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = timeout(PATIENCE, output).await.ok()?.ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let is_version = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_digit());
        let word = text.split_whitespace().find(is_version)?;
        let word = word.trim_end_matches('.');
        Some(word.chars().take(VERSION_CHARS_MAX).collect())
    }
}

/// Whether a version is this one or later. What cannot be read is not.
pub(super) fn is_at_least(version: &str, least: [u32; 3]) -> bool {
    let mut parts = version.split('.').map(str::parse);
    let mut next = || parts.next().and_then(Result::ok);
    let (Some(major), Some(minor), Some(patch)) = (next(), next(), next()) else {
        return false;
    };
    [major, minor, patch] >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let least = [2, 1, 295];
        for (version, expected) in [
            ("2.1.295", true),
            ("2.1.1000", true),
            ("3.0.0", true),
            ("2.1.294", false),
            ("2.1", false),
            ("", false),
        ] {
            assert_eq!(is_at_least(version, least), expected, "{version}");
        }
    }
}
