//! Real servers and real clients of the Model Context Protocol, as npm has them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use engines::{Signal, Tethered};
use serde_json::{Value, json};

use crate::environment;
use crate::installed::installed;

const INSTALLER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../scripts/install-mcp-servers"
);
const CLIENT: &str = include_str!("mcp/client.mjs");
const SERVER: &str = include_str!("mcp/server.mjs");

/// Answers that wait to be looked at; a test asks for each of them.
const ANSWERS_MAX: usize = 1_000;
/// Long enough for a loaded machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// How long a program may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// How clients and servers talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// A session that begins with `initialize`, up to 2025-11-25.
    Sessions,
    /// Every request by itself, since 2026-07-28.
    Stateless,
}

impl Era {
    pub const ALL: [Self; 2] = [Self::Sessions, Self::Stateless];

    fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Stateless => "stateless",
        }
    }
}

/// A client that has connected. Dropping it ends it, and with it the server that it started.
#[derive(Debug)]
pub struct McpClient {
    process: Tethered,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
    /// Those that came before others that were asked for earlier.
    early: HashMap<u64, Value>,
    next_id: u64,
}

impl McpClient {
    /// Starts a server and talks to it over its standard input and output.
    pub fn of_command<'a>(
        era: Era,
        command: &[&str],
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> anyhow::Result<Self> {
        let (program, arguments) = command.split_first().context("a command")?;
        let variables: serde_json::Map<String, Value> = variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        Self::start(
            &json!({"era": era.name(), "command": program, "args": arguments, "env": variables}),
        )
    }

    /// Talks to one over Streamable HTTP.
    pub fn of_url(era: Era, url: &str) -> anyhow::Result<Self> {
        Self::start(&json!({"era": era.name(), "url": url}))
    }

    fn start(where_to: &Value) -> anyhow::Result<Self> {
        let (mut process, output) = node(CLIENT, &[], &[])?;
        let mut input = process.pipes().stdin.take().context("its input is piped")?;
        writeln!(input, "{where_to}")?;
        let (send, answers) = sync_channel(ANSWERS_MAX);
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let answer = serde_json::from_str(&line).unwrap_or_else(|_| json!({"said": line}));
                if send.send(answer).is_err() {
                    break;
                }
            }
        });
        let mut client = Self {
            process,
            input: Some(input),
            answers,
            early: HashMap::new(),
            next_id: 1,
        };
        client.answer(0);
        Ok(client)
    }

    /// Asks, and does not wait.
    pub fn begin(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let input = self.input.as_mut().expect("it is open");
        let question = json!({"id": id, "method": method, "params": params});
        writeln!(input, "{question}").expect("the client runs");
        id
    }

    /// What was answered: a result, or `{"error": …}`. Panics when there is no answer in time.
    pub fn answer(&mut self, id: u64) -> Value {
        let until = Instant::now() + DEADLINE;
        let mut answer = loop {
            if let Some(answer) = self.early.remove(&id) {
                break answer;
            }
            let left = until.saturating_duration_since(Instant::now());
            let answer = self.answers.recv_timeout(left);
            let answer =
                answer.unwrap_or_else(|error| panic!("the MCP client says nothing: {error}"));
            let named = answer["id"].as_u64();
            let named = named.unwrap_or_else(|| panic!("the MCP client says: {answer}"));
            self.early.insert(named, answer);
        };
        match answer["result"].take() {
            Value::Null => json!({"error": answer["error"]}),
            result => result,
        }
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin("tools/call", &json!({"name": tool, "arguments": arguments}));
        self.answer(id)
    }

    /// The tools that there are.
    pub fn tools(&mut self) -> Value {
        let id = self.begin("tools/list", &json!({}));
        self.answer(id)["tools"].take()
    }

    /// Has no more to ask, and ends by itself.
    pub fn close(mut self) {
        self.input = None;
        let ended = self.process.wait_until(Instant::now() + DEADLINE);
        assert!(ended.is_some(), "the MCP client has not ended");
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        self.input = None;
        self.process.stop(Signal::Terminate, PATIENCE);
    }
}

/// The command of the reference server for files, which serves this folder.
pub fn files_server(folder: &Path) -> anyhow::Result<Vec<String>> {
    let script = reference("server-filesystem")?;
    let folder = folder.to_str().context("UTF-8")?;
    Ok(vec!["node".to_owned(), script, folder.to_owned()])
}

/// The command of the reference server that has some of everything.
pub fn everything_server() -> anyhow::Result<Vec<String>> {
    Ok(vec!["node".to_owned(), reference("server-everything")?])
}

/// The command of a server that adds numbers, and speaks as both eras do.
pub fn adding_server() -> anyhow::Result<Vec<String>> {
    install()?;
    let arguments = ["node", "--input-type=module", "-e", SERVER];
    Ok(arguments.map(str::to_owned).to_vec())
}

/// The same over Streamable HTTP.
#[derive(Debug)]
pub struct McpServer {
    _process: Tethered,
    url: String,
}

impl McpServer {
    pub fn adding(variables: &[(&str, &str)]) -> anyhow::Result<Self> {
        let (process, mut output) = node(SERVER, &["http"], variables)?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the MCP server has not started");
        Ok(Self {
            _process: process,
            url: line.trim_end().to_owned(),
        })
    }

    /// The reference server that has some of everything, with sessions.
    pub fn everything() -> anyhow::Result<Self> {
        let script = reference("server-everything")?;
        let port = free_port()?;
        let mut process = Tethered::spawn("node", Signal::Kill, |command| {
            command
                .args([&script, "streamableHttp"])
                .env("PORT", port.to_string())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
        })
        .context("start node: install Node.js 20 or later")?;
        let said = process.pipes().stderr.take().context("it is piped")?;
        let mut lines = BufReader::new(said).lines().map_while(Result::ok);
        let listens = lines.any(|line| line.contains("listening"));
        ensure!(listens, "the MCP server has not started");
        // What it says of each request must not fill its pipe.
        thread::spawn(move || lines.for_each(drop));
        Ok(Self {
            _process: process,
            url: format!("http://127.0.0.1:{port}/mcp"),
        })
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

fn reference(name: &str) -> anyhow::Result<String> {
    let package = install()?.join("node_modules/@modelcontextprotocol");
    let script = package.join(name).join("dist/index.js");
    Ok(script.to_str().context("UTF-8")?.to_owned())
}

/// The server wants to be told its port. Nobody else takes one that was free a moment ago.
fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A script that runs beside the packages, which it finds by that.
fn node(
    script: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> anyhow::Result<(Tethered, BufReader<impl std::io::Read + Send + 'static>)> {
    let folder = install()?;
    let mut process = Tethered::spawn("node", Signal::Kill, |command| {
        command
            .args(["--input-type=module", "-e", script])
            .args(arguments)
            .envs(variables.iter().copied())
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
    })
    .context("start node: install Node.js 20 or later")?;
    let output = process
        .pipes()
        .stdout
        .take()
        .context("its output is piped")?;
    Ok((process, BufReader::new(output)))
}

fn install() -> anyhow::Result<PathBuf> {
    installed(
        "the MCP servers",
        environment::mcp_servers_folder()?,
        &[INSTALLER],
    )
}
