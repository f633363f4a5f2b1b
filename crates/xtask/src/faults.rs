//! `cargo xtask faults`: builds what is broken and what breaks it, optimized, and lets it run.

use std::{path::Path, process::Command};

use anyhow::{Context as _, ensure};

/// Runs `faults` with these options; whether every promise was kept.
pub fn run(root: &Path, arguments: &[String]) -> anyhow::Result<bool> {
    let cargo = |task: &str, package: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args([task, "--locked", "--profile", "fast", "-p", package])
            .current_dir(root);
        cargo
    };
    let mut building = cargo("build", "server");
    let built = building.args(["--features", "jemalloc"]).status();
    ensure!(built.context("run cargo")?.success(), "the build failed");
    let ran = cargo("run", "faults").arg("--").args(arguments).status();
    Ok(ran.context("run cargo")?.success())
}
