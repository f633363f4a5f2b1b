//! Starting one server and waiting until it serves: what PostgreSQL, NATS and Redis have in common.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};

use crate::folder::Account;
use crate::leftover;
use crate::tether::{Signal, Tethered};

/// Recovery of a large data folder after a crash takes a while; nothing else comes near.
const READY_DEADLINE: Duration = Duration::from_mins(1);
const READY_POLL: Duration = Duration::from_millis(5);

/// A clean stop writes what is in memory to disk; after this the server gets SIGKILL.
const STOP_PATIENCE: Duration = Duration::from_secs(15);

/// A port that was free when we looked can be taken before the server binds it.
const PORT_TRIES: usize = 5;

/// What PostgreSQL says while one that was killed has backends left.
const LINGERING: &str = "pre-existing shared memory block";
/// They notice within milliseconds that their parent is gone, unless they are busy.
const LINGERING_PATIENCE: Duration = Duration::from_secs(15);
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// How much of a log a failed start shows.
const TAIL_LINES: usize = 20;
const TAIL_BYTES: u64 = 16 * 1024;

/// What does not change between the starts of one server.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) binary: PathBuf,
    /// The server's own folder, absolute.
    pub(crate) folder: PathBuf,
    /// The file into which the server writes its process id.
    pub(crate) pid_file: PathBuf,
    pub(crate) stop_with: Signal,
    /// Runs the server as another user.
    pub(crate) account: Option<Account>,
}

/// A server that was started, and may have ended since.
#[derive(Debug)]
pub(crate) struct Server {
    program: Program,
    process: Option<Tethered>,
}

/// Why a start failed, as far as it matters to who tries again.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Someone else listens on the port.
    PortTaken(anyhow::Error),
    /// The backends of a PostgreSQL that was killed have not noticed yet.
    Lingering(anyhow::Error),
    Other(anyhow::Error),
}

impl Server {
    /// Prepares to start: ends what an earlier run left and begins a new log. The log of the run
    /// before is kept beside it, older ones are not.
    pub(crate) fn prepare(program: Program) -> anyhow::Result<Self> {
        leftover::end(&program.pid_file, &program.folder, program.stop_with)?;
        let log = program.log();
        if log.exists() {
            fs::rename(&log, log.with_extension("log.previous"))
                .with_context(|| format!("move the old {} aside", log.display()))?;
        }
        Ok(Self {
            program,
            process: None,
        })
    }

    /// Starts it with these arguments and waits until `is_ready`, which is told the process id.
    pub(crate) fn launch(
        &mut self,
        arguments: &[OsString],
        is_ready: impl Fn(u32) -> bool,
    ) -> Result<(), Failure> {
        let log_before = self.log_length();
        let mut process = self.spawn(arguments).map_err(Failure::Other)?;
        let deadline = Instant::now() + READY_DEADLINE;
        while !is_ready(process.pid()) {
            if let Some(status) = process.ended() {
                return Err(self.explain(&format!("exited with {status}"), log_before));
            }
            if Instant::now() >= deadline {
                process.kill();
                let what = format!("was not ready after {} s", READY_DEADLINE.as_secs());
                return Err(self.explain(&what, log_before));
            }
            thread::sleep(READY_POLL);
        }
        // Someone else may be what answers on the port, while ours is about to give up.
        if let Some(status) = process.ended() {
            return Err(self.explain(&format!("exited with {status}"), log_before));
        }
        self.process = Some(process);
        Ok(())
    }

    /// Starts it again where it must be as before: keeps trying while the port or the memory of
    /// the one that ended is still taken.
    pub(crate) fn relaunch(
        &mut self,
        arguments: &[OsString],
        is_ready: impl Fn(u32) -> bool,
    ) -> anyhow::Result<()> {
        self.stop();
        leftover::end(
            &self.program.pid_file,
            &self.program.folder,
            self.program.stop_with,
        )?;
        let deadline = Instant::now() + LINGERING_PATIENCE;
        loop {
            match self.launch(arguments, &is_ready) {
                Ok(()) => return Ok(()),
                Err(Failure::PortTaken(_) | Failure::Lingering(_)) if Instant::now() < deadline => {
                    thread::sleep(RETRY_PAUSE);
                }
                Err(failure) => return Err(failure.into_error()),
            }
        }
    }

    /// The process id, or an error when the server does not run.
    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.process
            .as_ref()
            .map(Tethered::pid)
            .ok_or_else(|| anyhow!("{} is not running", self.program.name))
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.process
            .as_mut()
            .is_some_and(|process| process.ended().is_none())
    }

    /// Asks it to stop and does not wait; `stop` does.
    pub(crate) fn request_stop(&mut self) {
        let signal = self.program.stop_with;
        self.signal(signal);
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        if let Some(process) = &mut self.process {
            process.signal(signal);
        }
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.stop(self.program.stop_with, STOP_PATIENCE);
        }
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.program.log()
    }

    fn spawn(&self, arguments: &[OsString]) -> anyhow::Result<Tethered> {
        let program = &self.program;
        let log = File::options()
            .create(true)
            .append(true)
            .open(program.log())
            .with_context(|| format!("open {}", program.log().display()))?;
        let errors = log
            .try_clone()
            .context("share the log between both outputs")?;
        Tethered::spawn(&program.binary, program.stop_with, |command| {
            command.args(arguments).current_dir(&program.folder);
            command.stdin(Stdio::null()).stdout(log).stderr(errors);
            if let Some(account) = program.account {
                command.uid(account.user).gid(account.group);
            }
        })
        .with_context(|| format!("start {}", program.binary.display()))
    }

    fn log_length(&self) -> u64 {
        fs::metadata(self.log()).map_or(0, |facts| facts.len())
    }

    fn explain(&self, what: &str, log_before: u64) -> Failure {
        let log = self.log();
        let tail = tail(&log, log_before);
        let error = anyhow!(
            "{} {what}; the end of its log ({}) reads:\n{tail}",
            self.program.name,
            log.display()
        );
        if tail.to_lowercase().contains("address already in use") {
            Failure::PortTaken(error)
        } else if tail.contains(LINGERING) {
            Failure::Lingering(error)
        } else {
            Failure::Other(error)
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Program {
    fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }
}

impl Failure {
    pub(crate) fn into_error(self) -> anyhow::Error {
        match self {
            Self::PortTaken(error) | Self::Lingering(error) | Self::Other(error) => error,
        }
    }
}

/// Calls `start`, which picks its ports anew each time, until it found them free.
pub(crate) fn with_free_ports<T>(
    mut start: impl FnMut() -> Result<T, Failure>,
) -> anyhow::Result<T> {
    let deadline = Instant::now() + LINGERING_PATIENCE;
    let mut ports_taken = 0;
    loop {
        match start() {
            Ok(started) => return Ok(started),
            Err(Failure::PortTaken(_)) if ports_taken + 1 < PORT_TRIES => ports_taken += 1,
            Err(Failure::Lingering(_)) if Instant::now() < deadline => thread::sleep(RETRY_PAUSE),
            Err(failure) => return Err(failure.into_error()),
        }
    }
}

/// Calls `run`, which runs a program on the data of a PostgreSQL that may have been killed, until nothing of that is left.
pub(crate) fn once_nothing_lingers<T>(
    mut run: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let deadline = Instant::now() + LINGERING_PATIENCE;
    loop {
        match run() {
            Err(error) if error.to_string().contains(LINGERING) && Instant::now() < deadline => {
                thread::sleep(RETRY_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

/// Runs a program that ends by itself and returns what it printed.
pub(crate) fn run(
    binary: &Path,
    account: Option<Account>,
    variable: Option<(&str, &str)>,
    arguments: &[OsString],
) -> anyhow::Result<String> {
    run_on("", binary, account, variable, arguments)
}

/// The same for a program that reads a line or two, and nothing that it cannot take before it prints.
pub(crate) fn run_on(
    input: &str,
    binary: &Path,
    account: Option<Account>,
    variable: Option<(&str, &str)>,
    arguments: &[OsString],
) -> anyhow::Result<String> {
    let mut command = std::process::Command::new(binary);
    command
        .args(arguments)
        .envs(variable)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir("/");
    if let Some(account) = account {
        command.uid(account.user).gid(account.group);
    }
    let output = command.spawn().and_then(|mut process| {
        if let Some(mut stdin) = process.stdin.take() {
            // One that ends without reading says why by how it ends.
            let _ = stdin.write_all(input.as_bytes());
        }
        process.wait_with_output()
    });
    let output = output.with_context(|| format!("run {}", binary.display()))?;
    if !output.status.success() {
        bail!(
            "{} exited with {}: {}",
            binary.display(),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned())
}

/// The last lines of a file, not looking before `from`.
fn tail(file: &Path, from: u64) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(from.max(length.saturating_sub(TAIL_BYTES))))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = match read() {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return format!("(not readable: {error})"),
    };
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_lines_and_only_of_this_start() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("server.log");
        let lines: Vec<String> = (1..=50).map(|line| format!("line {line}")).collect();
        fs::write(&file, lines.join("\n")).expect("written");
        assert!(tail(&file, 0).starts_with("line 31\n"));
        assert!(tail(&file, 0).ends_with("line 50"));
        let from = u64::try_from(lines[..48].join("\n").len() + 1).expect("small");
        assert_eq!(tail(&file, from), "line 49\nline 50");
    }
}
