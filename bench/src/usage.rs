//! What all processes of a measurement use: processor time of each, and how often the disk is told to sync.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use rustix::fs::{major, minor, stat};
use testkit::{Engines, Own};

use crate::process;

/// The processes that are looked at, and the disk that the engines write to.
pub(crate) struct Watched {
    processes: Vec<(&'static str, Process)>,
    disk: (u32, u32),
}

#[derive(Clone, Copy)]
enum Process {
    Alone(u32),
    WithChildren(u32),
}

/// What had been used at a moment.
pub(crate) struct Usage {
    at: Instant,
    cpu: Vec<Duration>,
    syncs: Option<u64>,
}

/// What was used in between.
pub(crate) struct Used {
    took: Duration,
    /// By each process; several may have one name.
    cpu: Vec<(&'static str, Duration)>,
    /// How often the disk was told to sync; `None` if this system does not count that.
    syncs: Option<u64>,
}

impl Watched {
    /// The engines and this process, which makes the load: the others are its children, so it counts for itself alone.
    pub(crate) fn new(engines: &Own<Engines>) -> anyhow::Result<Self> {
        let device = stat(engines.nats.log())?.st_dev;
        let (nats, postgres) = (engines.nats.pid()?, engines.postgres.pid()?);
        Ok(Self {
            processes: vec![
                ("NATS", Process::WithChildren(nats)),
                ("PostgreSQL", Process::WithChildren(postgres)),
                ("load", Process::Alone(std::process::id())),
            ],
            disk: (major(device), minor(device)),
        })
    }

    /// A process and its children.
    pub(crate) fn add(&mut self, name: &'static str, pid: u32) {
        self.processes.push((name, Process::WithChildren(pid)));
    }

    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        let cpu = self.processes.iter().map(|(_, process)| match process {
            Process::Alone(pid) => process::cpu(*pid),
            Process::WithChildren(pid) => process::cpu_of_family(*pid),
        });
        Ok(Usage {
            at: Instant::now(),
            cpu: cpu.collect::<anyhow::Result<_>>()?,
            syncs: syncs(self.disk)?,
        })
    }

    pub(crate) fn used_since(&self, before: &Usage) -> anyhow::Result<Used> {
        let now = self.usage()?;
        let cpu = self.processes.iter().zip(now.cpu.iter().zip(&before.cpu));
        let cpu = cpu.map(|((name, _), (now, before))| (*name, now.saturating_sub(*before)));
        Ok(Used {
            took: now.at.duration_since(before.at),
            cpu: cpu.collect(),
            syncs: now
                .syncs
                .zip(before.syncs)
                .map(|(now, before)| now - before),
        })
    }
}

impl Used {
    /// How often the disk was told to sync for each of these.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    pub(crate) fn syncs_for_each(&self, of: usize) -> f64 {
        self.syncs
            .map_or(f64::NAN, |syncs| syncs as f64 / of.max(1) as f64)
    }

    /// Processor time of those with this name.
    fn cpu_of(&self, name: &str) -> Duration {
        let those = self.cpu.iter().filter(|(other, _)| *other == name);
        those.map(|(_, cpu)| *cpu).sum()
    }

    /// Microseconds of processor time of those with this name, for each of these.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    pub(crate) fn micros_for_each(&self, name: &str, of: usize) -> f64 {
        self.cpu_of(name).as_secs_f64() * 1e6 / of.max(1) as f64
    }

    /// How many cores those with this name used.
    pub(crate) fn cores_of(&self, name: &str) -> f64 {
        self.cpu_of(name).as_secs_f64() / self.took.as_secs_f64()
    }

    /// Cores in use, in all and by each.
    pub(crate) fn cores(&self) -> String {
        let names = self.names();
        let all: f64 = names.iter().map(|name| self.cores_of(name)).sum();
        let each = names.iter().map(|name| (*name, self.cores_of(name)));
        format!("{all:.2} cores: {}", list(each))
    }

    /// Processor time of each process and syncs of the disk, for each of these.
    pub(crate) fn for_each(&self, of: usize) -> String {
        let names = self.names().into_iter();
        let each = names.map(|name| (name, self.micros_for_each(name, of)));
        let syncs = match self.syncs {
            Some(_) => format!("{:.4} syncs each", self.syncs_for_each(of)),
            None => "syncs are not counted here".to_owned(),
        };
        format!("us CPU each: {}; {syncs}", list(each))
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.cpu.iter().map(|(name, _)| *name).collect();
        names.dedup();
        names
    }
}

fn list(figures: impl Iterator<Item = (&'static str, f64)>) -> String {
    let figures: Vec<String> = figures
        .map(|(name, figure)| format!("{name} {figure:.2}"))
        .collect();
    figures.join(", ")
}

/// How often a disk was told to sync so far.
fn syncs((major, minor): (u32, u32)) -> anyhow::Result<Option<u64>> {
    // Behind the numbers and the name of a disk: 15 figures of reads, writes and discards, then this one.
    const SYNCS: usize = 3 + 15;
    let disks = fs::read_to_string("/proc/diskstats").context("read what disks do")?;
    let is_it = |line: &&str| {
        let mut fields = line.split_whitespace();
        fields.next() == Some(&major.to_string()) && fields.next() == Some(&minor.to_string())
    };
    let line = disks.lines().find(is_it);
    let figure = line.and_then(|line| line.split_whitespace().nth(SYNCS));
    Ok(figure.map(str::parse).transpose()?)
}
