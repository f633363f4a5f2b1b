//! What was measured when, on what and of which commit: `bench/history.json`, drawn by `cargo xtask generate`.

use std::{collections::BTreeMap, env, fs, path::Path, process::Command};

use anyhow::{Context as _, ensure};
use domain::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Verdict, all::Outcome, events};

/// A machine, without a name, and how this program was built on it.
#[derive(Serialize)]
pub(crate) struct Machine {
    cpu: String,
    cores: usize,
    memory_gib: u64,
    #[serde(skip)]
    pub(crate) built_as: String,
}

#[derive(Serialize)]
struct Entry<'a> {
    commit: String,
    date: String,
    machine: &'a Machine,
    build: &'a str,
    length: &'static str,
    /// By profile.
    figures: BTreeMap<&'static str, &'a Verdict>,
}

/// The entries of before, as they are.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
struct History(Vec<Value>);

impl Machine {
    pub(crate) fn this() -> anyhow::Result<Self> {
        let of = |file: &str, name: &str| -> anyhow::Result<String> {
            let text = fs::read_to_string(file).with_context(|| format!("read {file}"))?;
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            let line = lines.find(|(found, _)| found.trim() == name);
            let (_, value) = line.with_context(|| format!("{file} says no {name}"))?;
            Ok(value.trim().to_owned())
        };
        let memory = of("/proc/meminfo", "MemTotal")?;
        let kib: u64 = memory.trim_end_matches(" kB").parse()?;
        let folder = env::current_exe()?;
        let folder = folder.parent().and_then(Path::file_name);
        Ok(Self {
            cpu: of("/proc/cpuinfo", "model name")?,
            cores: std::thread::available_parallelism()?.get(),
            memory_gib: (kib + (1 << 19)) >> 20,
            built_as: folder
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
        })
    }
}

/// Adds what was measured now.
pub(crate) fn append(
    record: &Path,
    machine: &Machine,
    is_quick: bool,
    outcomes: &[Outcome],
) -> anyhow::Result<()> {
    let mut history = match fs::read_to_string(record) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => History::default(),
        Err(error) => return Err(error).with_context(|| format!("read {}", record.display())),
    };
    let now = Timestamp::from_unix_millis(events::now()).to_string();
    let figures = outcomes.iter();
    let figures = figures.filter_map(|one| Some((one.profile, one.verdict.as_ref()?)));
    let entry = Entry {
        commit: commit()?,
        date: now.split('T').next().unwrap_or_default().to_owned(),
        machine,
        build: &machine.built_as,
        length: if is_quick { "quick" } else { "usual" },
        figures: figures.collect(),
    };
    history.0.push(serde_json::to_value(entry)?);
    let text = format!("{}\n", serde_json::to_string_pretty(&history)?);
    fs::write(record, text).with_context(|| format!("write {}", record.display()))?;
    println!("\n{} has it now", record.display());
    Ok(())
}

/// The commit that is checked out, which is what was built if nobody edited in between.
fn commit() -> anyhow::Result<String> {
    git(&["rev-parse", "--short=8", "HEAD"])
}

/// Whether files differ from the commit that is checked out.
pub(crate) fn is_edited() -> anyhow::Result<bool> {
    let differing = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Ok(!differing.is_empty())
}

fn git(question: &[&str]) -> anyhow::Result<String> {
    let asking = Command::new("git").args(question).output();
    let told = asking.context("ask git")?;
    ensure!(told.status.success(), "git does not say: {question:?}");
    Ok(String::from_utf8(told.stdout)?.trim().to_owned())
}
