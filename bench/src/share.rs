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
        let (groups, version_1) = (Path::new("/sys/fs/cgroup"), Path::new("/sys/fs/cgroup/cpu"));
        let is_version_1 = version_1.is_dir();
        let group = if is_version_1 { version_1 } else { groups }.join(name);
        fs::create_dir(&group).with_context(|| format!("make the group {}", group.display()))?;
        let share = Self { group };
        if is_version_1 {
            share.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            share.write("cpu.cfs_quota_us", &quota)?;
        } else {
            share.write("cpu.max", &format!("{quota} {PERIOD_US}"))?;
        }
        share.write("cgroup.procs", &pid.to_string())?;
        Ok(share)
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
