//! `cargo xtask bench`: builds what is measured and what measures, optimised, and runs a profile.

use std::{path::Path, process::Command};

use anyhow::{Context as _, ensure};

/// Runs a profile of `bench/`; whether nothing was found broken.
pub fn run(root: &Path, arguments: &[String]) -> anyhow::Result<bool> {
    let cargo = |task: &str, package: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args([task, "--locked", "--profile", "fast", "-p", package])
            .current_dir(root);
        cargo
    };
    // Rules are judged in memory; everything else is measured through the server.
    if arguments.first().is_none_or(|profile| profile != "rules") {
        let built = cargo("build", "server").status().context("run cargo")?;
        ensure!(built.success(), "the build failed");
    }
    let mut measuring = cargo("run", "bench");
    let ran = measuring.arg("--").args(arguments).status();
    Ok(ran.context("run cargo")?.success())
}
