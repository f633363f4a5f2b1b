//! `cargo xtask bench`: builds what is measured and what measures, optimized, and runs a profile.

use std::{path::Path, process::Command};

use anyhow::{Context as _, ensure};

/// Runs a profile of `bench/`; whether nothing was found broken. With `--release` in front of it, what is measured is what is
/// released.
pub fn run(root: &Path, arguments: &[String]) -> anyhow::Result<bool> {
    let (built_as, arguments) = match arguments.split_first() {
        Some((first, rest)) if first == "--release" => ("release", rest),
        _ => ("fast", arguments),
    };
    let cargo = |task: &str, package: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args([task, "--locked", "--profile", built_as, "-p", package])
            .current_dir(root);
        cargo
    };
    // These are tests, which also run in CI, at full length.
    if arguments.first().is_some_and(|profile| profile == "peers") {
        return run_peers(root, built_as);
    }
    // Rules are judged in memory; everything else is measured through the server.
    if arguments.first().is_none_or(|profile| profile != "rules") {
        let mut building = cargo("build", "server");
        let built = building.args(["--features", "jemalloc"]).status();
        let built = built.context("run cargo")?;
        ensure!(built.success(), "the build failed");
    }
    let mut measuring = cargo("run", "bench");
    let ran = measuring.arg("--").args(arguments).status();
    Ok(ran.context("run cargo")?.success())
}

/// Runs the scenarios of others as long as they took there.
fn run_peers(root: &Path, built_as: &str) -> anyhow::Result<bool> {
    let mut tests = Command::new(env!("CARGO"));
    tests
        .args(["nextest", "run", "--locked", "--cargo-profile", built_as])
        .args(["--profile", "full", "--no-capture"])
        .args(["-p", "server", "--test", "it", "peers::"])
        .env("WATCHBELL_TEST_FULL", "1")
        .current_dir(root);
    Ok(tests.status().context("run cargo")?.success())
}
