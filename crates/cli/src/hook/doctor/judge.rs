//! What an agent's settings make of it.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use serde_json::Value;

use super::{
    super::agent::Agent,
    handlers::{self, Handler},
    places::{self, Scope},
    programs::is_at_least,
};

/// The first version of Claude Code that obeys `onFailure`.
const BLOCKS_WITHOUT_ANSWER: [u32; 3] = [2, 1, 295];
/// The largest file of settings that is read.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What was found of one agent.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) settings: Vec<String>,
    pub(super) problems: Vec<String>,
}

/// What is where of our hooks.
#[derive(Default)]
struct Seen {
    asks: bool,
    tells: bool,
    verdict: Verdict,
}

impl Verdict {
    pub(super) fn of_files(agent: Agent, version: Option<&str>) -> Self {
        let mut seen = Seen::default();
        for (scope, path) in places::of(agent) {
            match read(&path) {
                Ok(Some(settings)) => seen.look(agent, version, (scope, &path), &settings),
                Ok(None) => {}
                Err(why) => {
                    let problem = format!("{} cannot be read: {why}", path.display());
                    seen.verdict.problems.push(problem);
                }
            }
        }
        seen.verdict(agent)
    }
}

impl Seen {
    fn look(
        &mut self,
        agent: Agent,
        version: Option<&str>,
        (scope, path): (Scope, &Path),
        settings: &Value,
    ) {
        let (before, after) = events(agent);
        let ours = |event: &str| {
            let found = handlers::at(settings, event).into_iter();
            found.filter(|one| one.is_ours(agent)).collect::<Vec<_>>()
        };
        let asking = ours(before);
        if !asking.is_empty() {
            let place = format!("{} ({})", path.display(), scope.name());
            self.verdict.settings.push(place);
        }
        self.tells |= ours(after).iter().any(|one| one.is_for_every_tool());
        for one in asking {
            self.asks |= one.is_for_every_tool();
            if let Some(problem) = open(one, agent, version) {
                self.verdict.problems.push(problem);
            }
        }
        if let Some(name) = switched_off(agent, settings) {
            let problem = format!(
                "Hooks are switched off by `{name}` in {}. Take that out.",
                path.display()
            );
            self.verdict.problems.push(problem);
        }
    }

    fn verdict(mut self, agent: Agent) -> Verdict {
        let name = agent.name();
        let put = format!(
            "Put what `watchbell hook {name}` prints into {}.",
            file_of(agent)
        );
        let problems = &mut self.verdict.problems;
        if !self.asks {
            let found = if self.verdict.settings.is_empty() {
                "Nothing asks us before a tool runs."
            } else {
                "Only some tools are asked about."
            };
            problems.push(format!("{found} {put}"));
        } else if !self.tells {
            problems.push(format!("What became of a call is not recorded. {put}"));
        }
        self.verdict
    }
}

/// Why a call goes on when there is no answer, if it does.
pub(super) fn open(handler: Handler<'_>, agent: Agent, version: Option<&str>) -> Option<String> {
    let name = agent.name();
    let obeys = || version.is_some_and(|version| is_at_least(version, BLOCKS_WITHOUT_ANSWER));
    if !handler.blocks() {
        Some(format!(
            "Calls go on when we cannot be reached. Print the settings again: `watchbell hook {name}`."
        ))
    } else if handler.url().is_some() && !obeys() {
        Some(
            "Calls go on when we cannot be reached, because this version ignores `onFailure`. Update it to 2.1.295 or later, \
             or use what `watchbell hook claude-code --command` prints."
                .to_owned(),
        )
    } else {
        None
    }
}

/// The setting by which hooks do not run, if there is one.
fn switched_off(agent: Agent, settings: &Value) -> Option<&'static str> {
    match agent {
        Agent::ClaudeCode | Agent::Copilot if settings["disableAllHooks"] == true => {
            Some("disableAllHooks")
        }
        Agent::Gemini if settings["hooksConfig"]["enabled"] == false => Some("hooksConfig.enabled"),
        _ => None,
    }
}

/// The events before and after a tool.
fn events(agent: Agent) -> (&'static str, &'static str) {
    match agent {
        Agent::Gemini => ("BeforeTool", "AfterTool"),
        Agent::Copilot | Agent::Cursor => ("preToolUse", "postToolUse"),
        Agent::ClaudeCode | Agent::Codex | Agent::DockerMcp => ("PreToolUse", "PostToolUse"),
    }
}

/// Where a person puts their own settings.
fn file_of(agent: Agent) -> &'static str {
    match agent {
        Agent::ClaudeCode => "~/.claude/settings.json",
        Agent::Codex => "~/.codex/hooks.json",
        Agent::Gemini => "~/.gemini/settings.json",
        Agent::Copilot => "~/.copilot/hooks/watchbell.json",
        Agent::Cursor => "~/.cursor/hooks.json",
        Agent::DockerMcp => "the gateway's `--interceptor`",
    }
}

/// Settings, if the file is there.
fn read(path: &Path) -> Result<Option<Value>, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut bytes = Vec::new();
    let read = file.take(BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    let settings = serde_json::from_slice(&bytes);
    settings
        .map(Some)
        .map_err(|error| format!("it is not JSON: {error}"))
}
