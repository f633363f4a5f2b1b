//! `cargo xtask bench`: builds what is measured and what measures, as it is released, and runs a profile.

use std::{path::Path, process::Command};

use anyhow::{Context as _, ensure};

/// Runs a profile of `bench/`; whether nothing was found broken. With `--fast` in front of it, what is measured is built in
/// minutes, without what the linker optimizes.
pub fn run(root: &Path, arguments: &[String]) -> anyhow::Result<bool> {
    let (built_as, arguments) = match arguments.split_first() {
        Some((first, rest)) if first == "--fast" => ("fast", rest),
        _ => ("release", arguments),
    };
    let profile = arguments.first().map(String::as_str);
    match profile {
        // These are tests, which also run in CI, at full length.
        Some("peers") => return run_peers(root, built_as),
        Some("instructions") => return count_instructions(root, &arguments[1..]),
        _ => {}
    }
    let cargo = |task: &str, package: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args([task, "--locked", "--profile", built_as, "-p", package])
            .current_dir(root);
        cargo
    };
    // Rules are judged in memory; everything else is measured through the server.
    if profile != Some("rules") {
        let mut building = cargo("build", "server");
        let built = building.args(["--features", "jemalloc"]).status();
        let built = built.context("run cargo")?;
        ensure!(built.success(), "the build failed");
    }
    let mut measuring = cargo("run", "bench");
    let ran = measuring.arg("--").args(arguments).status();
    Ok(ran.context("run cargo")?.success())
}

/// Counts instructions of what CI builds: unoptimized, with clippy as the compiler, which leaves out even more than rustc
/// does then.
fn count_instructions(root: &Path, arguments: &[String]) -> anyhow::Result<bool> {
    let mut counting = Command::new(env!("CARGO"));
    counting
        .args([
            "run",
            "--locked",
            "--workspace",
            "--bin",
            "instructions",
            "--",
        ])
        .args(arguments)
        .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .env("CARGO_INCREMENTAL", "0")
        .current_dir(root);
    Ok(counting.status().context("run cargo")?.success())
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
