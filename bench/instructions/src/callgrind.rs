//! Runs a workload under callgrind and reads what it counted.
//!
//! Valgrind plays the same processor on every machine whose own has AVX2 (a Haswell), so whoever chooses code by what the
//! processor can do, as SHA-256, `memchr` and the C library do, chooses the same code everywhere.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};

use crate::workloads::Workload;

const PROGRAM: &str = "valgrind";
/// The one function that is counted, with all that it calls.
const COUNTED: &str = "--toggle-collect=*counted*";
/// But for what only debug builds do: that a record of our own is compared with what the door would make of it.
const NOT_COUNTED: &str = "--toggle-collect=*assert_accepted*";
/// In what callgrind writes, this stands in front of the sum.
const SUM: &str = "totals: ";

/// Where valgrind is, if this machine has it.
#[expect(
    clippy::disallowed_methods,
    reason = "where programs are is no setting of ours"
)]
pub(crate) fn place() -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let mut places = env::split_paths(&folders).map(|folder| folder.join(PROGRAM));
    places.find(|place| place.is_file())
}

/// How many instructions it took to do all of it once.
pub(crate) fn count(valgrind: &Path, workload: Workload) -> anyhow::Result<u64> {
    let name = workload.name();
    let own = env::current_exe()?;
    let told = own.with_file_name(format!("callgrind.{name}.out"));
    let mut counting = Command::new(valgrind);
    // A variable moves the stack, and copies take other ways then.
    counting.env_clear();
    counting
        .args(["--tool=callgrind", "--quiet", COUNTED, NOT_COUNTED])
        .arg(format!("--callgrind-out-file={}", told.display()))
        .arg(&own)
        .args(["--under-callgrind", name]);
    let counted = counting.status().context("run valgrind")?;
    ensure!(counted.success(), "{name} under callgrind: {counted}");
    let told = fs::read_to_string(&told).with_context(|| format!("read {}", told.display()))?;
    let sum = told.lines().find_map(|line| line.strip_prefix(SUM));
    let sum = sum.context("callgrind writes a sum")?.trim().parse()?;
    ensure!(
        sum > 0,
        "{name} was not counted: is there a function `counted`?"
    );
    Ok(sum)
}
