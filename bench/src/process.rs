//! What a running process used: processor time and memory, as Linux tells it.

use std::{fs, time::Duration};

use anyhow::Context as _;
use rustix::time::{ClockId, clock_gettime};

/// Linux counts processor time in hundredths of a second for everybody who asks.
const TICKS_PER_S: f64 = 100.0;

/// Places in what Linux says of a process, behind its name.
const PARENT: usize = 1;
const OWN_TICKS: [usize; 2] = [11, 12];
const ENDED_CHILDRENS_TICKS: [usize; 2] = [13, 14];

/// Processor time that a process has used so far.
pub(crate) fn cpu(pid: u32) -> anyhow::Result<Duration> {
    time(&figures(pid)?, OWN_TICKS)
}

/// The same with its children, those that ended included.
pub(crate) fn cpu_of_family(pid: u32) -> anyhow::Result<Duration> {
    let parent = figures(pid)?;
    let mut used = time(&parent, OWN_TICKS)? + time(&parent, ENDED_CHILDRENS_TICKS)?;
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(child) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // It may have ended since.
        if let Ok(figures) = figures(child)
            && figures.get(PARENT) == Some(&f64::from(pid))
        {
            used += time(&figures, OWN_TICKS)?;
        }
    }
    Ok(used)
}

fn figures(pid: u32) -> anyhow::Result<Vec<f64>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may hold spaces; the fields behind it do not.
    let (_, fields) = stat.rsplit_once(')').context("a process has a name")?;
    let figure = |field: &str| field.parse().unwrap_or(f64::NAN);
    Ok(fields.split_whitespace().map(figure).collect())
}

fn time(figures: &[f64], ticks: [usize; 2]) -> anyhow::Result<Duration> {
    let ticks = ticks.iter().map(|place| figures.get(*place));
    let ticks: Option<f64> = ticks.sum();
    let ticks = ticks.context("a process has times")?;
    Ok(Duration::from_secs_f64(ticks / TICKS_PER_S))
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
