//! The profiles that CI and the history know, one after the other, and one table at the end. Each is a process of its own,
//! so that one that fails stops no other.

use std::{
    env,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use testkit::folder::TestFolder;

use crate::{Arguments, Verdict, history};

/// A profile and how it is run.
struct Run {
    profile: &'static str,
    /// At its usual length, but for histories that take half an hour.
    usual: &'static str,
    /// In less than five minutes with all the others.
    quick: &'static str,
    /// Unoptimized: only a figure that shows something broken says anything, and that does not take long.
    unoptimized: &'static str,
}

const RUNS: [Run; 7] = [
    Run {
        profile: "ingest",
        usual: "",
        quick: "--seconds 3",
        unoptimized: "--seconds 1 --lanes 4",
    },
    Run {
        profile: "index",
        usual: "",
        quick: "--events 120000 --outage-s 3 --seconds 4",
        unoptimized: "--events 20000 --outage-s 3 --seconds 3",
    },
    Run {
        profile: "trail",
        usual: "--events 1000000",
        quick: "--events 200000 --lists 20",
        unoptimized: "--events 30000 --lists 10 --lanes 4",
    },
    Run {
        profile: "rules",
        usual: "",
        quick: "--rules 20000 --seconds 3",
        unoptimized: "--rules 2000 --seconds 1",
    },
    Run {
        profile: "backtest",
        usual: "--events 1000000",
        quick: "--events 200000",
        unoptimized: "--events 30000 --lanes 4",
    },
    Run {
        profile: "decide",
        usual: "",
        quick: "--seconds 4",
        unoptimized: "--seconds 2 --lanes 4",
    },
    Run {
        profile: "deliver",
        usual: "",
        quick: "--deliveries 5000 --seconds 3 --rounds 1",
        unoptimized: "--deliveries 1000 --seconds 3 --rounds 1",
    },
];

/// What came of one profile.
pub(crate) struct Outcome {
    pub(crate) profile: &'static str,
    took: Duration,
    /// `None` if it failed before it had one.
    pub(crate) verdict: Option<Verdict>,
}

/// Whether all went well.
pub(crate) fn measure(arguments: &Arguments) -> anyhow::Result<bool> {
    let machine = history::Machine::this()?;
    if arguments.record.is_some() {
        ensure!(
            machine.built_as == "release",
            "only what is released goes on record, and this is built as `{}`",
            machine.built_as
        );
        ensure!(
            arguments.binary.is_none(),
            "what goes on record is of the commit that is checked out: leave out --binary"
        );
        ensure!(
            !history::is_edited()?,
            "what goes on record is of a commit: commit what is edited first"
        );
    }
    let folder = TestFolder::create()?;
    let mut outcomes = Vec::new();
    for run in &RUNS {
        let lengths = if !arguments.quick {
            run.usual
        } else if cfg!(debug_assertions) {
            run.unoptimized
        } else {
            run.quick
        };
        println!("\n=== {} {lengths}", run.profile);
        let figures = folder.path().join(run.profile);
        let started = Instant::now();
        let ended = profile(arguments, run.profile, lengths, &figures);
        if let Err(error) = &ended {
            println!("{}: {error:#}", run.profile);
        }
        outcomes.push(Outcome {
            profile: run.profile,
            took: started.elapsed(),
            verdict: ended.ok(),
        });
    }
    print(&outcomes);
    let has_failed = |outcome: &&Outcome| outcome.verdict.as_ref().is_none_or(Verdict::is_broken);
    let failed: Vec<&str> = outcomes
        .iter()
        .filter(has_failed)
        .map(|one| one.profile)
        .collect();
    if !failed.is_empty() {
        println!("\nfailed: {}", failed.join(", "));
    }
    if let (Some(record), true) = (&arguments.record, failed.is_empty()) {
        history::append(record, &machine, arguments.quick, &outcomes)?;
    }
    Ok(failed.is_empty())
}

/// Runs one to its end. It is broken or not; only one that could not be measured is an error.
fn profile(
    arguments: &Arguments,
    name: &str,
    lengths: &str,
    figures: &Path,
) -> anyhow::Result<Verdict> {
    let mut running = Command::new(env::current_exe()?);
    running.arg(name).args(lengths.split_whitespace());
    running
        .arg("--binary")
        .arg(arguments.binary()?)
        .arg("--figures")
        .arg(figures);
    let ended = running.status().context("run a profile")?;
    Verdict::read(figures).with_context(|| format!("it ended with {ended}"))
}

fn print(outcomes: &[Outcome]) {
    println!("\n=== all");
    for Outcome {
        profile,
        took,
        verdict,
    } in outcomes
    {
        let seconds = took.as_secs_f64();
        let Some(verdict) = verdict else {
            println!("{profile:<9} FAILED after {seconds:.0} s");
            continue;
        };
        println!("{profile:<9} {seconds:.0} s");
        for line in verdict.lines() {
            println!("          {line}");
        }
    }
}
