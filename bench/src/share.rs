//! A share of a core that a process may use and no more, through a control group: so two workers can be compared with
//! one on a machine that is too small for both and everything beside them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

/// A share is used up and given anew so often: short, so that a process that has used its own up does not stand still for long.
const PERIOD_US: f64 = 10_000.0;

pub(crate) struct Share {
    group: PathBuf,
}

impl Share {
    /// Holds a process, and what it starts from now on, to so many cores. It takes the right to make control groups.
    pub(crate) fn hold(pid: u32, cores: f64) -> anyhow::Result<Self> {
        let quota = (cores * PERIOD_US).to_string();
        let name = format!("watchbell-bench-{pid}");
        // Version 1 of control groups has a folder for each thing that it controls.
        let old = Path::new("/sys/fs/cgroup/cpu");
        if old.is_dir() {
            let share = Self::make(old.join(name))?;
            share.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            share.write("cpu.cfs_quota_us", &quota)?;
            share.write("cgroup.procs", &pid.to_string())?;
            return Ok(share);
        }
        let share = Self::make(Path::new("/sys/fs/cgroup").join(name))?;
        share.write("cpu.max", &format!("{quota} {PERIOD_US}"))?;
        share.write("cgroup.procs", &pid.to_string())?;
        Ok(share)
    }

    fn make(group: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir(&group).with_context(|| format!("make the group {}", group.display()))?;
        Ok(Self { group })
    }

    fn write(&self, file: &str, value: &str) -> anyhow::Result<()> {
        let file = self.group.join(file);
        fs::write(&file, value).with_context(|| format!("write {value} to {}", file.display()))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // It cannot be removed while its process runs.
        let _ = fs::remove_dir(&self.group);
    }
}
