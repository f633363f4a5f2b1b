//! What a running process used: processor time and memory, as Linux tells it.

use std::{fs, time::Duration};

use anyhow::Context as _;
use rustix::time::{ClockId, clock_gettime};

/// Linux counts processor time in hundredths of a second for everybody who asks.
const TICKS_PER_S: f64 = 100.0;

/// Processor time that a process has used so far.
pub(crate) fn cpu(pid: u32) -> anyhow::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may hold spaces; the fields behind it do not.
    let (_, fields) = stat.rsplit_once(')').context("a process has a name")?;
    let ticks = |place: usize| -> anyhow::Result<f64> {
        let field = fields.split_whitespace().nth(place);
        Ok(field.context("a process has times")?.parse()?)
    };
    Ok(Duration::from_secs_f64(
        (ticks(11)? + ticks(12)?) / TICKS_PER_S,
    ))
}

/// Processor time that this thread has used so far: what others do on the machine is not in it.
pub(crate) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Memory in use now, in MiB.
pub(crate) fn memory_mib(pid: u32) -> anyhow::Result<f64> {
    status(pid, "VmRSS:")
}

/// The most memory that was in use since [`forget_peak`], in MiB.
pub(crate) fn peak_memory_mib(pid: u32) -> anyhow::Result<f64> {
    status(pid, "VmHWM:")
}

pub(crate) fn forget_peak(pid: u32) -> anyhow::Result<()> {
    const PEAK: &str = "5";
    fs::write(format!("/proc/{pid}/clear_refs"), PEAK).context("forget the peak of memory")
}

fn status(pid: u32, name: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib: f64 = line
        .and_then(|line| line.trim().strip_suffix("kB"))
        .context("a process has memory")?
        .trim()
        .parse()?;
    Ok(kib / 1024.0)
}
