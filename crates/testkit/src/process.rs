//! The real `watchbell` program, run as its users run it.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use engines::{Signal, Tethered};
use serde_json::Value;

use crate::environment;
use crate::stopwatch::Stopwatch;

/// How much of the output is kept, for `wait_for_line` and for the report of a test that fails.
const LINES_MAX: usize = 1_000;

/// How often a wait also looks whether the program has ended.
const LOOK: Duration = Duration::from_millis(20);

/// A running program. Dropping it kills it; when the test is failing, it first prints what the
/// program said.
#[derive(Debug)]
pub struct Watchbell {
    process: Tethered,
    output: Arc<Output>,
}

#[derive(Debug, Default)]
struct Output {
    said: Mutex<Said>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Said {
    lines: VecDeque<String>,
    /// Those of `lines` that went to standard output, which belongs to commands.
    stdout: VecDeque<String>,
    /// How many lines were dropped before the first one that is kept.
    dropped: usize,
    /// From the first line that says `listening`; kept apart, so that it cannot scroll away.
    address: Option<SocketAddr>,
    is_ready: bool,
    /// How many of its two pipes have not been read to the end yet.
    pipes_open: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pipe {
    Stdout,
    Stderr,
}

impl Watchbell {
    /// Starts it. Of our own environment it gets everything but the variables `WATCHBELL_…` that configure it.
    pub fn spawn<'a>(
        binary: &Path,
        arguments: &[&str],
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> anyhow::Result<Self> {
        let mut process = Tethered::spawn(binary, Signal::Kill, |command| {
            for name in environment::watchbell_names() {
                command.env_remove(name);
            }
            command.args(arguments);
            command.envs(
                variables
                    .into_iter()
                    .map(|(name, value)| (name, OsStr::new(value))),
            );
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        })
        .with_context(|| format!("start {}", binary.display()))?;
        let output = Arc::new(Output::default());
        let pipes = process.pipes();
        keep_lines(
            pipes.stdout.take().context("its output is piped")?,
            Pipe::Stdout,
            Arc::clone(&output),
        );
        keep_lines(
            pipes.stderr.take().context("its errors are piped")?,
            Pipe::Stderr,
            Arc::clone(&output),
        );
        Ok(Self { process, output })
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Where it listens, from its line `"message":"listening"`; panics when there is none within
    /// `deadline`.
    pub fn address(&mut self, deadline: Duration) -> SocketAddr {
        self.wait_for("it says where it listens", deadline, |said| said.address)
    }

    /// `http://` and its address.
    pub fn url(&mut self, deadline: Duration) -> String {
        format!("http://{}", self.address(deadline))
    }

    /// Waits for its line `"message":"ready"`.
    pub fn wait_until_ready(&mut self, deadline: Duration) {
        self.wait_for("it is ready", deadline, |said| said.is_ready.then_some(()));
    }

    /// Waits for a line that `is_it`, among those that it has said already too, and returns it.
    pub fn wait_for_line(&mut self, deadline: Duration, is_it: impl Fn(&str) -> bool) -> String {
        let mut looked_at = 0;
        self.wait_for("it says the line", deadline, |said| {
            let from = looked_at.max(said.dropped) - said.dropped;
            let found = said
                .lines
                .iter()
                .skip(from)
                .find(|line| is_it(line))
                .cloned();
            looked_at = said.dropped + said.lines.len();
            found
        })
    }

    /// What it has said so far, at most the last 1,000 lines.
    pub fn lines(&self) -> Vec<String> {
        self.output.lock().lines.iter().cloned().collect()
    }

    /// What it has said on standard output so far, at most the last 1,000 lines.
    pub fn stdout(&self) -> Vec<String> {
        self.output.lock().stdout.iter().cloned().collect()
    }

    /// SIGTERM, and how it ended; panics when it has not within `deadline`.
    pub fn terminate(&mut self, deadline: Duration) -> ExitStatus {
        self.process.signal(Signal::Terminate);
        self.wait_until_ended(deadline)
    }

    /// Waits until it ends by itself; panics when it has not within `deadline`.
    pub fn wait_until_ended(&mut self, deadline: Duration) -> ExitStatus {
        self.process
            .wait_until(Instant::now() + deadline)
            .unwrap_or_else(|| panic!("watchbell has not ended within {deadline:?}"))
    }

    /// How it ended, or `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.ended()
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Sends it a signal, for instance to suspend it.
    pub fn signal(&mut self, signal: Signal) {
        self.process.signal(signal);
    }

    fn wait_for<T>(
        &mut self,
        what: &str,
        deadline: Duration,
        mut find: impl FnMut(&Said) -> Option<T>,
    ) -> T {
        let started = Stopwatch::start();
        let mut said = self.output.lock();
        loop {
            // In this order: what it said last counts, even if it has ended since.
            let ended = self.process.ended();
            if let Some(found) = find(&said) {
                return found;
            }
            assert!(
                started.elapsed() < deadline,
                "not within {deadline:?}: {what}"
            );
            if let Some(status) = ended {
                // Its last words may still be in a pipe.
                assert!(
                    said.pipes_open > 0,
                    "watchbell ended ({status}) before: {what}"
                );
            }
            let waited = self.output.changed.wait_timeout(said, LOOK);
            said = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Watchbell {
    #[expect(
        clippy::print_stderr,
        reason = "a test that fails shows what the program said"
    )]
    fn drop(&mut self) {
        self.process.kill();
        if thread::panicking() {
            let lines = self.lines();
            eprintln!(
                "--- the last {} lines of watchbell ({}):",
                lines.len(),
                self.pid()
            );
            for line in lines {
                eprintln!("{line}");
            }
        }
    }
}

/// Reads until the program closes its end, which it does at the latest when it ends.
fn keep_lines(pipe: impl Read + Send + 'static, which: Pipe, output: Arc<Output>) {
    output.lock().pipes_open += 1;
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            output.keep(which, String::from_utf8_lossy(&line).into_owned());
        }
        output.lock().pipes_open -= 1;
        output.changed.notify_all();
    });
}

impl Output {
    fn keep(&self, pipe: Pipe, line: String) {
        let mut said = self.lock();
        said.note(&line);
        if pipe == Pipe::Stdout {
            if said.stdout.len() == LINES_MAX {
                said.stdout.pop_front();
            }
            said.stdout.push_back(line.clone());
        }
        if said.lines.len() == LINES_MAX {
            said.lines.pop_front();
            said.dropped += 1;
        }
        said.lines.push_back(line);
        drop(said);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        // A wait that runs out panics with the lines in hand; they are whole, and `drop` prints them.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    fn note(&mut self, line: &str) {
        // Most lines are neither; parse only those that may be.
        if !line.contains(r#""message":"listening""#) && !line.contains(r#""message":"ready""#) {
            return;
        }
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            return;
        };
        let field = |name: &str| line.get(name).or_else(|| line.get("fields")?.get(name));
        match field("message").and_then(Value::as_str) {
            Some("ready") => self.is_ready = true,
            Some("listening") if self.address.is_none() => {
                let address = field("address").and_then(Value::as_str);
                self.address = address.and_then(|address| address.parse().ok());
            }
            _ => {}
        }
    }
}
