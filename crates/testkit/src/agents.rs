//! Real coding agents, as npm has them, with a made-up model that calls one tool once.
//!
//! Nobody is logged in, everything that an agent would report is off, and whatever it sends elsewhere than to this machine goes to
//! a proxy that is not there.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use engines::{Signal, Tethered};
use serde_json::{Value, json};

use crate::environment;
use crate::folder::TestFolder;
use crate::installed::installed;

const INSTALLER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/install-agents");
const MODEL: &str = include_str!("agents/model.mjs");
const CODEX_SETTINGS: &str = ".codex/config.toml";
/// What of them is kept when the model has another address.
const TRUST: &str = ".codex/trust.toml";
/// Where nobody listens.
const NO_PROXY_THERE: &str = "http://127.0.0.1:9";
/// What a model may be told in one run.
const LINES_MAX: usize = 100;
/// Long enough for a loaded machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// For a line that was written before the agent ended.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodingAgent {
    ClaudeCode,
    Codex,
    Gemini,
    Copilot,
}

/// An agent on a machine of its own: a home and a project.
#[derive(Debug)]
pub struct AgentHome {
    agent: CodingAgent,
    folder: TestFolder,
    installed: PathBuf,
}

/// What became of a call that the model made.
#[derive(Debug)]
pub struct Called {
    /// What the model was told.
    pub told: String,
    /// What the agent printed, for messages of tests.
    pub printed: String,
}

impl AgentHome {
    pub fn new(agent: CodingAgent) -> anyhow::Result<Self> {
        let installed = install()?;
        let folder = TestFolder::create()?;
        fs::create_dir(folder.path().join("project"))?;
        let home = Self {
            agent,
            folder,
            installed,
        };
        if agent == CodingAgent::Gemini {
            home.write_settings(json!({}))?;
        }
        Ok(home)
    }

    /// Where the agent works.
    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the agent's program.
    pub fn programs(&self) -> PathBuf {
        self.installed.join("node_modules/.bin")
    }

    /// The person's settings that have hooks in them, where the agent looks for them.
    pub fn write_settings(&self, mut settings: Value) -> anyhow::Result<()> {
        let file = match self.agent {
            CodingAgent::ClaudeCode => ".claude/settings.json",
            CodingAgent::Codex => ".codex/hooks.json",
            CodingAgent::Gemini => ".gemini/settings.json",
            CodingAgent::Copilot => ".copilot/hooks/watchbell.json",
        };
        if self.agent == CodingAgent::Gemini {
            settings["security"] = json!({"auth": {"selectedType": "gemini-api-key"}});
            settings["privacy"] = json!({"usageStatisticsEnabled": false});
            settings["general"] = json!({"enableAutoUpdate": false});
        }
        self.write(file, &settings.to_string())
    }

    /// A folder with the agent's program alone.
    pub fn only_program(&self) -> anyhow::Result<PathBuf> {
        let folder = self.folder.path().join("programs");
        fs::create_dir_all(&folder)?;
        let (name, _) = self.agent.command_line();
        let program = self.programs().join(name).canonicalize()?;
        std::os::unix::fs::symlink(program, folder.join(name))?;
        Ok(folder)
    }

    /// Trusts the hooks of Codex, as its `/hooks` does.
    pub fn trust_hooks(&self) -> anyhow::Result<()> {
        let listed = self.hooks_of_codex()?;
        let hooks = listed["result"]["data"][0]["hooks"].as_array();
        let mut text = String::new();
        for hook in hooks.context("Codex lists its hooks")? {
            let (key, hash) = (&hook["key"], &hook["currentHash"]);
            writeln!(text, "[hooks.state.{key}]\ntrusted_hash = {hash}")?;
        }
        self.write(TRUST, &text)?;
        self.write(CODEX_SETTINGS, &text)
    }

    /// What its app server answers, to which editors' extensions talk.
    fn hooks_of_codex(&self) -> anyhow::Result<Value> {
        let mut process =
            Tethered::spawn(self.programs().join("codex"), Signal::Kill, |command| {
                command
                    .arg("app-server")
                    .current_dir(self.project())
                    .env("HOME", self.folder.path())
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null());
            })?;
        let mut input = process.pipes().stdin.take().context("it is piped")?;
        let output = process.pipes().stdout.take().context("it is piped")?;
        let client = json!({"name": "test", "version": "0"});
        for message in [
            json!({"id": 1, "method": "initialize", "params": {"clientInfo": client}}),
            json!({"method": "initialized"}),
            json!({"id": 2, "method": "hooks/list", "params": {"cwds": [self.project()]}}),
        ] {
            writeln!(input, "{message}")?;
        }
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        let mut messages = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        let answer = messages.find(|message| message["id"] == 2);
        answer.context("Codex has ended without an answer")
    }

    /// A file below the home.
    pub fn write(&self, file: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.path().join(file);
        fs::create_dir_all(path.parent().context("it is below the home")?)?;
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    }

    /// The text of a file in the project, if it is there.
    pub fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.project().join(file)).ok()
    }

    /// The agent's model wants to run this command in a shell; these programs are on the PATH, and these variables set.
    pub fn calls(
        &self,
        command: &str,
        programs: &Path,
        variables: &[(&str, &str)],
    ) -> anyhow::Result<Called> {
        let model = Model::start(&self.agent.call_of(command))?;
        if self.agent == CodingAgent::Codex {
            let trusted = fs::read_to_string(self.folder.path().join(TRUST));
            let settings = codex_settings(&model.url) + &trusted.unwrap_or_default();
            self.write(CODEX_SETTINGS, &settings)?;
        }
        let output = self
            .command(&model.url, programs)?
            .envs(variables.iter().copied())
            .output()
            .with_context(|| format!("start {:?}", self.agent))?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        let told = model.told().with_context(|| printed.clone())?;
        Ok(Called { told, printed })
    }

    fn command(&self, model: &str, programs: &Path) -> anyhow::Result<Command> {
        let home = self.folder.path();
        let (program, arguments) = self.agent.command_line();
        let mut command = Command::new(self.programs().join(program));
        command
            .args(arguments)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", path_with(programs)?)
            .env("HOME", home)
            .envs([
                ("HTTP_PROXY", NO_PROXY_THERE),
                ("HTTPS_PROXY", NO_PROXY_THERE),
                ("NO_PROXY", "127.0.0.1,localhost"),
            ])
            .envs(self.agent.variables(model))
            .stdin(Stdio::null());
        if self.agent == CodingAgent::Copilot {
            // It unpacks itself at its first start.
            command.env("COPILOT_CACHE_HOME", self.installed.join("copilot"));
        }
        Ok(command)
    }
}

impl CodingAgent {
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Copilot];

    /// As our commands and addresses have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
        }
    }

    /// One call of the tool that is a shell, by each name that it may have.
    fn call_of(self, command: &str) -> Value {
        let call = json!({"command": command, "description": "a test"});
        match self {
            Self::ClaudeCode => json!({"Bash": call}),
            Self::Codex => json!({"exec_command": {"cmd": command}, "shell_command": call}),
            Self::Gemini => json!({"run_shell_command": call}),
            Self::Copilot => json!({"bash": call}),
        }
    }

    /// One turn, without anybody at the terminal, and without the agent's own permissions.
    fn command_line(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::ClaudeCode => (
                "claude",
                &[
                    "-p",
                    "go",
                    "--allowedTools",
                    "Bash",
                    "--model",
                    "claude-sonnet-4-5",
                ],
            ),
            Self::Codex => ("codex", &["exec", "--skip-git-repo-check", "go"]),
            Self::Gemini => ("gemini", &["--yolo", "-p", "go"]),
            Self::Copilot => ("copilot", &["-p", "go", "--allow-all-tools"]),
        }
    }

    fn variables(self, model: &str) -> Vec<(&'static str, String)> {
        let fixed: &[(&str, &str)] = match self {
            Self::ClaudeCode => &[
                ("ANTHROPIC_API_KEY", "none"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("DISABLE_ERROR_REPORTING", "1"),
                ("DISABLE_TELEMETRY", "1"),
            ],
            Self::Codex => &[("MODEL_KEY", "none")],
            Self::Gemini => &[
                ("GEMINI_API_KEY", "none"),
                ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
                ("GEMINI_TELEMETRY_ENABLED", "false"),
            ],
            Self::Copilot => &[
                ("COPILOT_AUTO_UPDATE", "false"),
                ("COPILOT_MODEL", "gpt-5"),
                ("COPILOT_OFFLINE", "true"),
                ("COPILOT_PROVIDER_API_KEY", "none"),
            ],
        };
        let address = match self {
            Self::ClaudeCode => Some(("ANTHROPIC_BASE_URL", model.to_owned())),
            Self::Codex => None,
            Self::Gemini => Some(("GOOGLE_GEMINI_BASE_URL", model.to_owned())),
            Self::Copilot => Some(("COPILOT_PROVIDER_BASE_URL", format!("{model}/v1"))),
        };
        let fixed = fixed
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        fixed.chain(address).collect()
    }
}

fn codex_settings(model: &str) -> String {
    format!(
        r#"model = "gpt-5"
model_provider = "test"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[analytics]
enabled = false
[model_providers.test]
name = "test"
base_url = "{model}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
"#
    )
}

/// Theirs before those of this machine, which have Node.js and a shell.
fn path_with(programs: &Path) -> anyhow::Result<OsString> {
    let known = environment::path("PATH").context("PATH is not set")?;
    let mut path = programs.as_os_str().to_owned();
    path.push(":");
    path.push(known);
    Ok(path)
}

/// The model, as long as it is kept.
#[derive(Debug)]
struct Model {
    _process: Tethered,
    url: String,
    lines: Receiver<Value>,
}

impl Model {
    fn start(call: &Value) -> anyhow::Result<Self> {
        let call = call.to_string();
        let mut process = Tethered::spawn("node", Signal::Kill, |command| {
            command
                .args(["--input-type=module", "-e", MODEL, "--", &call])
                .stdin(Stdio::null())
                .stdout(Stdio::piped());
        })
        .context("start node: install Node.js 20 or later")?;
        let output = process
            .pipes()
            .stdout
            .take()
            .context("its output is piped")?;
        let (send, lines) = sync_channel(LINES_MAX);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Value::Null);
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let first: Value = lines
            .recv_timeout(DEADLINE)
            .context("the model has not started")?;
        let url = first["url"]
            .as_str()
            .context("the model says its address")?;
        Ok(Self {
            url: url.to_owned(),
            _process: process,
            lines,
        })
    }

    /// The first result of a tool that it was told, now that the agent has ended.
    fn told(&self) -> anyhow::Result<String> {
        let line = self.lines.recv_timeout(PATIENCE);
        let line = line.context("the model was told of no tool")?;
        Ok(line["told"].as_str().unwrap_or_default().to_owned())
    }
}

fn install() -> anyhow::Result<PathBuf> {
    installed(
        "the coding agents",
        environment::agents_folder()?,
        &[INSTALLER],
    )
}
