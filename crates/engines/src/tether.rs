//! A child process that cannot outlive us, not even when we are killed with -9.
//!
//! On Linux the kernel does it: `setpriv --pdeathsig` asks for a signal when the parent is gone.
//! That request is bound to the *thread* that started the child, so all children are started from
//! one thread that lives as long as the process. Where `setpriv` cannot do this, a small shell
//! holds the reading end of a pipe whose writing end only we have: when we are gone it sends the
//! signal.
//!
//! Children get a process group of their own, so that Ctrl-C in a terminal reaches only us and we
//! stop them in our order.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process};

/// How often we look whether a process has ended. Short, because people and tests wait for it.
const POLL: Duration = Duration::from_millis(5);

/// After SIGKILL a process is gone as soon as the kernel gets to it; longer means it is stuck in
/// the kernel, and waiting for ever would hang us too.
const KILL_PATIENCE: Duration = Duration::from_secs(10);

/// The signals we send to children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    /// What a terminal sends that is closed.
    Hangup,
    Kill,
    /// Suspends the process, which then looks like a machine that hangs.
    Stop,
    /// Lets a suspended process go on.
    Continue,
}

/// A running child that ends when this process ends. Dropping it kills it.
#[derive(Debug)]
pub struct Tethered {
    child: Child,
    watchdog: Option<Child>,
    ended: Option<ExitStatus>,
}

impl Tethered {
    /// Starts `program`, after `configure` has set its arguments, environment, and so on. When this
    /// process ends for any reason, the child receives `on_parent_death`.
    pub fn spawn(
        program: impl AsRef<OsStr>,
        on_parent_death: Signal,
        configure: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let by_kernel = kernel_can_tether();
        let mut command = if by_kernel {
            let mut command = Command::new("setpriv");
            command
                .args(["--pdeathsig", on_parent_death.name(), "--"])
                .arg(program);
            command
        } else {
            Command::new(program)
        };
        configure(command.process_group(0));
        let mut child = spawn_on_lasting_thread(command)?;
        let watchdog = if by_kernel {
            None
        } else {
            match watch(&child, on_parent_death) {
                Ok(watchdog) => Some(watchdog),
                Err(error) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(error);
                }
            }
        };
        Ok(Self {
            child,
            watchdog,
            ended: None,
        })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The child's ends of pipes, for who asked for them in `configure`.
    pub fn pipes(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How it ended, or `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            // An error here means that there is no such child, which cannot be: we have not
            // reaped it.
            self.ended = self.child.try_wait().ok().flatten();
            if self.ended.is_some() {
                self.end_watchdog();
            }
        }
        self.ended
    }

    /// Sends a signal; to a process that has ended, nothing happens.
    pub fn signal(&mut self, signal: Signal) {
        if self.ended().is_none() {
            // Not reaped yet, so the id cannot belong to another process.
            let _ = kill_process(Pid::from_child(&self.child), signal.raw());
        }
    }

    /// Waits until it has ended, but not beyond `deadline`.
    pub fn wait_until(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(POLL);
        }
    }

    /// Asks it to end with `signal` and, when it has not after `patience`, kills it.
    pub fn stop(&mut self, signal: Signal, patience: Duration) -> Option<ExitStatus> {
        self.signal(signal);
        // A suspended process hears nothing but SIGKILL until it goes on.
        self.signal(Signal::Continue);
        self.wait_until(Instant::now() + patience)
            .or_else(|| self.kill())
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::Kill);
        self.wait_until(Instant::now() + KILL_PATIENCE)
    }

    /// The watchdog must go once its child has, or it could later hit a stranger with the same id.
    fn end_watchdog(&mut self) {
        if let Some(mut watchdog) = self.watchdog.take() {
            let _ = watchdog.kill();
            let _ = watchdog.wait();
        }
    }
}

impl Drop for Tethered {
    fn drop(&mut self) {
        self.kill();
        self.end_watchdog();
    }
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "INT",
            Self::Hangup => "HUP",
            Self::Terminate => "TERM",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
        }
    }

    pub(crate) fn raw(self) -> rustix::process::Signal {
        match self {
            Self::Interrupt => rustix::process::Signal::INT,
            Self::Hangup => rustix::process::Signal::HUP,
            Self::Terminate => rustix::process::Signal::TERM,
            Self::Kill => rustix::process::Signal::KILL,
            Self::Stop => rustix::process::Signal::STOP,
            Self::Continue => rustix::process::Signal::CONT,
        }
    }
}

/// Tried once with a harmless program: some systems have a `setpriv` without this option.
fn kernel_can_tether() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        cfg!(target_os = "linux")
            && Command::new("setpriv")
                .args(["--pdeathsig", "KILL", "--", "true"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
    })
}

fn watch(child: &Child, on_parent_death: Signal) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            r#"read -r _; kill -s "$0" "$1""#,
            on_parent_death.name(),
        ])
        .arg(child.id().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    spawn_on_lasting_thread(command)
}

type SpawnRequest = (Command, mpsc::SyncSender<io::Result<Child>>);

/// Who asks waits for the answer anyway, so a longer queue would gain nothing.
const SPAWN_REQUESTS_MAX: usize = 1;

fn spawn_on_lasting_thread(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<mpsc::SyncSender<SpawnRequest>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, requests) = mpsc::sync_channel::<SpawnRequest>(SPAWN_REQUESTS_MAX);
        thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(move || {
                for (mut command, answer) in requests {
                    let _ = answer.send(command.spawn());
                }
            })
            .expect("a process that cannot start one thread cannot start engines either");
        sender
    });
    let (sender, answer) = mpsc::sync_channel(1);
    spawner.send((command, sender)).map_err(io::Error::other)?;
    answer.recv().map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_ignores_the_signal_is_killed_when_patience_runs_out() {
        let mut child = Tethered::spawn("sh", Signal::Kill, |command| {
            command.args(["-c", "trap '' TERM; echo trapped; exec sleep 60"]);
            command.stdout(Stdio::piped());
        })
        .expect("sh starts");
        let mut line = String::new();
        let output = child.pipes().stdout.take().expect("stdout is piped");
        io::BufRead::read_line(&mut io::BufReader::new(output), &mut line).expect("one line");
        let status = child
            .stop(Signal::Terminate, Duration::from_millis(50))
            .expect("it ended");
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(9)
        );
    }

    #[test]
    fn the_watchdog_ends_the_child_when_its_pipe_closes() {
        let child = Command::new("sleep")
            .arg("60")
            .spawn()
            .expect("sleep starts");
        let mut child = Tethered {
            child,
            watchdog: None,
            ended: None,
        };
        let mut watchdog = watch(&child.child, Signal::Terminate).expect("sh starts");
        drop(watchdog.stdin.take());
        assert!(
            child
                .wait_until(Instant::now() + Duration::from_secs(5))
                .is_some()
        );
        watchdog.wait().expect("the watchdog ends by itself");
    }
}
