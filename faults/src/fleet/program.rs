//! One server process on a machine of the fleet, with everything that it started.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use engines::{Signal, Tethered};
use testkit::Machine;

/// A clean stop writes what is in memory; longer means that it hangs.
const STOP_PATIENCE: Duration = Duration::from_secs(30);

/// A process that can be killed, suspended and started again.
pub(crate) struct Program {
    machine: Machine,
    /// Both of its outputs go there.
    log: PathBuf,
    stop_with: Signal,
    process: Option<Tethered>,
}

impl Program {
    pub(crate) fn new(machine: &Machine, log: PathBuf, stop_with: Signal) -> Self {
        Self {
            machine: machine.clone(),
            log,
            stop_with,
            process: None,
        }
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Starts it; whoever needs it waits until it serves.
    pub(crate) fn start(&mut self, command: &[OsString]) -> anyhow::Result<()> {
        let prefix = self.machine.prefix();
        let (enter, rest) = prefix.split_first().context("a prefix")?;
        fs::create_dir_all(self.log.parent().context("a folder")?)?;
        let log = File::options().create(true).append(true).open(&self.log);
        let log = log.with_context(|| format!("open {}", self.log.display()))?;
        let errors = log.try_clone()?;
        let process = Tethered::spawn(enter, Signal::Kill, |process| {
            process.args(rest).args(command);
            process.stdin(Stdio::null()).stdout(log).stderr(errors);
        });
        self.process = Some(process.with_context(|| format!("start {command:?}"))?);
        Ok(())
    }

    pub(crate) fn is_running(&mut self) -> bool {
        let process = self.process.as_mut();
        process.is_some_and(|process| process.ended().is_none())
    }

    /// Whether it ended, and nobody here ended it.
    pub(crate) fn ended_by_itself(&mut self) -> bool {
        let process = self.process.as_mut();
        process.is_some_and(|process| process.ended().is_some())
    }

    /// SIGKILL to it and to all that it started, at once.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::Kill);
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.stop(self.stop_with, STOP_PATIENCE);
        }
    }

    /// SIGSTOP to it and to all that it started: it keeps its connections and says nothing.
    pub(crate) fn suspend(&mut self) {
        self.signal(Signal::Stop);
    }

    pub(crate) fn resume(&mut self) {
        self.signal(Signal::Continue);
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// The last lines that it wrote.
    pub(crate) fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// PostgreSQL is a family of processes, and a signal to its head alone stops nobody.
    fn signal(&mut self, signal: Signal) {
        let Some(process) = &mut self.process else {
            return;
        };
        let children = children(process.pid());
        process.signal(signal);
        for child in children {
            let name = match signal {
                Signal::Kill => "-KILL",
                Signal::Stop => "-STOP",
                _ => "-CONT",
            };
            // One that has ended meanwhile needs no signal.
            let _ = std::process::Command::new("kill")
                .args([name, &child])
                .stderr(Stdio::null())
                .status();
        }
    }
}

fn children(pid: u32) -> Vec<String> {
    let file = format!("/proc/{pid}/task/{pid}/children");
    let children = fs::read_to_string(file).unwrap_or_default();
    children.split_whitespace().map(str::to_owned).collect()
}

/// Asks again and again until the answer is yes.
pub(crate) fn wait_until(
    what: &str,
    within: Duration,
    mut is_so: impl FnMut() -> bool,
) -> anyhow::Result<()> {
    const POLL: Duration = Duration::from_millis(50);
    let deadline = Instant::now() + within;
    while !is_so() {
        anyhow::ensure!(Instant::now() < deadline, "not within {within:?}: {what}");
        std::thread::sleep(POLL);
    }
    Ok(())
}
