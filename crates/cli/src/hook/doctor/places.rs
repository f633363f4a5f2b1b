//! The files in which agents look for hooks.

use std::{
    fs::read_dir,
    path::{Path, PathBuf},
};

use super::super::agent::Agent;
use crate::machine::variable;

/// How many files of a folder are looked at.
const FILES_MAX: usize = 100;

/// Whose settings they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// An administrator's: people cannot take them out.
    Managed,
    User,
    /// Of the folder in which the doctor runs.
    Project,
}

impl Scope {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Where an agent's settings can be, the strongest first. Codex says itself.
pub(super) fn of(agent: Agent) -> Vec<(Scope, PathBuf)> {
    let is_mac = cfg!(target_os = "macos");
    let managed = |mac: &str, other: &str| {
        let path = if is_mac { mac } else { other };
        (Scope::Managed, PathBuf::from(path))
    };
    let user = |path: &str| home().map(|home| (Scope::User, home.join(path)));
    let project = |path: &str| Some((Scope::Project, PathBuf::from(path)));
    let files = match agent {
        Agent::ClaudeCode => {
            let folder = variable("CLAUDE_CONFIG_DIR").map(PathBuf::from);
            let folder = folder.or_else(|| Some(home()?.join(".claude")));
            vec![
                Some(managed(
                    "/Library/Application Support/ClaudeCode/managed-settings.json",
                    "/etc/claude-code/managed-settings.json",
                )),
                folder.map(|folder| (Scope::User, folder.join("settings.json"))),
                project(".claude/settings.json"),
                project(".claude/settings.local.json"),
            ]
        }
        Agent::Gemini => vec![
            Some(match variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH") {
                Some(path) => (Scope::Managed, path.into()),
                None => managed(
                    "/Library/Application Support/GeminiCli/settings.json",
                    "/etc/gemini-cli/settings.json",
                ),
            }),
            user(".gemini/settings.json"),
            project(".gemini/settings.json"),
        ],
        Agent::Cursor => vec![
            Some(managed(
                "/Library/Application Support/Cursor/hooks.json",
                "/etc/cursor/hooks.json",
            )),
            user(".cursor/hooks.json"),
            project(".cursor/hooks.json"),
        ],
        Agent::Copilot => return copilot(),
        Agent::Codex | Agent::DockerMcp => Vec::new(),
    };
    files.into_iter().flatten().collect()
}

/// Copilot reads every file of two folders.
fn copilot() -> Vec<(Scope, PathBuf)> {
    let of_user = variable("COPILOT_HOME").map(PathBuf::from);
    let of_user = of_user.or_else(|| Some(home()?.join(".copilot")));
    let of_user = of_user.map(|folder| (Scope::User, folder.join("hooks")));
    let of_project = Some((Scope::Project, PathBuf::from(".github/hooks")));
    let folders = [of_user, of_project].into_iter().flatten();
    let mut files = Vec::new();
    for (scope, folder) in folders {
        files.extend(json_files(&folder).into_iter().map(|file| (scope, file)));
    }
    files
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.take(FILES_MAX).flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    paths.sort();
    paths
}

fn home() -> Option<PathBuf> {
    variable("HOME").map(PathBuf::from)
}
