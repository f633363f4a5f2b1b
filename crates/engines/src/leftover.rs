//! Servers that a killed run left behind, or is still leaving: two servers on the same data would
//! destroy it.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use rustix::process::{Pid, kill_process, test_kill_process};

use crate::tether::Signal;

/// A killed run's servers have been told to stop already; this is for the one that is slow.
const PATIENCE: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(10);

/// Waits until the server that wrote `pid_file` has ended, asking it to with `stop_with`, and
/// sees to it that the file stops nobody. Only called by who holds the folder, so nobody needs that
/// server any more.
pub(crate) fn end(pid_file: &Path, folder: &Path, stop_with: Signal) -> anyhow::Result<()> {
    let Ok(text) = fs::read_to_string(pid_file) else {
        return Ok(());
    };
    let pid = text
        .lines()
        .next()
        .and_then(|line| line.trim().parse::<u32>().ok());
    let Some(pid) = pid else {
        return Ok(());
    };
    if is_server_in(pid, folder) {
        send(pid, stop_with);
        if !ends_within(PATIENCE, pid, folder) {
            send(pid, Signal::Kill);
            if !ends_within(PATIENCE, pid, folder) {
                bail!(
                    "process {pid} from an earlier run is using {} and does not exit",
                    folder.display()
                );
            }
        }
    }
    if is_running(pid) {
        // PostgreSQL would take the stranger that has this id by now for itself. Otherwise the file
        // stays: PostgreSQL finds the shared memory of its own past through it.
        let _ = fs::remove_file(pid_file);
    }
    Ok(())
}

fn ends_within(patience: Duration, pid: u32, folder: &Path) -> bool {
    let deadline = Instant::now() + patience;
    while is_server_in(pid, folder) {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(POLL);
    }
    true
}

/// Whether a process with this id runs; one that has ended but was not collected does not.
pub fn is_running(pid: u32) -> bool {
    let Some(raw) = to_pid(pid) else {
        return false;
    };
    if test_kill_process(raw) == Err(rustix::io::Errno::SRCH) {
        return false;
    }
    // The state follows the name, which is in parentheses and may itself contain some.
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat
            .rsplit(')')
            .next()
            .is_none_or(|rest| !rest.trim().starts_with('Z')),
        Err(_) => !cfg!(target_os = "linux"),
    }
}

/// By its command line, because the id may belong to a stranger by now.
fn is_server_in(pid: u32, folder: &Path) -> bool {
    let named = folder.display().to_string();
    is_running(pid) && command_line(pid).is_some_and(|line| line.contains(&named))
}

fn command_line(pid: u32) -> Option<String> {
    if cfg!(target_os = "linux") {
        let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        return Some(String::from_utf8_lossy(&bytes).replace('\0', " "));
    }
    let output = std::process::Command::new("ps")
        .args(["-ww", "-o", "command=", "-p", &pid.to_string()])
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn send(pid: u32, signal: Signal) {
    if let Some(pid) = to_pid(pid) {
        let _ = kill_process(pid, signal.raw());
    }
}

fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
