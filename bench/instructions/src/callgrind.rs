//! Runs a workload under callgrind and reads what it counted.
//!
//! Valgrind plays the same processor on every machine whose own has AVX2 (a Haswell), so whoever chooses code by what the
//! processor can do, as SHA-256, `memchr` and the C library do, chooses the same code everywhere.

use std::{
    env, fs,
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};

use crate::workloads::Workload;

const PROGRAM: &str = "valgrind";
/// The one function that is counted, with all that it calls.
const COUNTED: &str = "--toggle-collect=*counted*";
/// In what callgrind writes, this stands in front of the sum.
const SUM: &str = "totals: ";

pub(crate) fn is_there() -> bool {
    let asking = Command::new(PROGRAM)
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    asking.is_ok_and(|status| status.success())
}

/// How many instructions it took to do all of it once.
pub(crate) fn count(workload: Workload) -> anyhow::Result<u64> {
    let name = workload.name();
    let own = env::current_exe()?;
    let told = own.with_file_name(format!("callgrind.{name}.out"));
    let mut counting = Command::new(PROGRAM);
    // A variable moves the stack, and copies take other ways then.
    counting.env_clear();
    counting
        .args(["--tool=callgrind", "--quiet", COUNTED])
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
