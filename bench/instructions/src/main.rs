//! Counts the instructions of fixed workloads with callgrind, and refuses more of them than are on record
//! (`bench/instructions.json`). A count is the same on any machine and however busy it is; what it cannot see is time
//! that passes without instructions. How to run it: bench/README.md.
#![allow(clippy::print_stdout, reason = "a ratchet is what it prints")]

mod callgrind;
mod counts;
mod workloads;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;

use crate::{counts::Counts, workloads::Workload};

/// Counts the instructions of fixed workloads, and refuses more of them than are on record.
#[derive(Parser)]
struct Arguments {
    /// Puts what is counted on record instead.
    #[arg(long)]
    accept: bool,
    /// The record.
    #[arg(long, default_value = "bench/instructions.json")]
    record: PathBuf,
    /// Does this once, then once more as what is counted; for callgrind.
    #[arg(long, value_enum, hide = true, value_name = "WORKLOAD")]
    under_callgrind: Option<Workload>,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(workload) = arguments.under_callgrind {
        let mut work = workload.prepare();
        // What is made on first use is no part of it.
        work();
        counted(&mut work);
        return Ok(ExitCode::SUCCESS);
    }
    let Some(valgrind) = callgrind::place() else {
        println!("valgrind is not installed; on Debian: apt-get install valgrind");
        return Ok(ExitCode::from(NOT_HERE));
    };
    let now = count_all(&valgrind)?;
    if arguments.accept {
        now.write(&arguments.record)?;
        println!("{} has these counts now", arguments.record.display());
        return Ok(ExitCode::SUCCESS);
    }
    compare(&now, &arguments.record)
}

/// What a test harness calls a test that was skipped, by a convention of GNU's.
const NOT_HERE: u8 = 77;

/// Callgrind counts what happens in here, and nothing else: it knows this function by its name.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
}

fn count_all(valgrind: &Path) -> anyhow::Result<Counts> {
    let count = |workload: &Workload| {
        let instructions = callgrind::count(valgrind, *workload)?;
        Ok((workload.name(), instructions / workload.times()))
    };
    Workload::ALL.iter().map(count).collect()
}

fn compare(now: &Counts, record: &Path) -> anyhow::Result<ExitCode> {
    let comparison = Counts::read(record)?.compare(now);
    print!("{comparison}");
    Ok(if comparison.is_refused() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
