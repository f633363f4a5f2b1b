//! Installs missing engines with the same script that people can run by hand.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::Error;
use crate::locate::{Binaries, Engine, Search};

/// Part of the program, so that `watchbell dev` can install engines without a checkout.
const SCRIPT: &str = include_str!("../../../scripts/install-engines");

/// Finds the engines and installs those that are missing first. What the installer says goes to
/// our standard error; `before_install` is called with what is missing before anything happens.
pub fn ensure(search: &Search, before_install: impl FnOnce(&str)) -> Result<Binaries, Error> {
    match search.find() {
        Err(Error::Missing(_)) => {}
        other => return other,
    }
    let _lock = one_at_a_time(search)?;
    match search.find() {
        Err(Error::Missing(missing)) => {
            before_install(&Error::Missing(missing.clone()).to_string());
            run_script(search, &missing)?;
            search.find()
        }
        // Another process was installing, and we have waited for it.
        other => other,
    }
}

/// Tests are processes that may all find the same engine missing.
fn one_at_a_time(search: &Search) -> anyhow::Result<File> {
    let path = search.private_folder().with_extension("lock");
    let folder = path.parent().context("the private folder has no parent")?;
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    let file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    file.lock()
        .with_context(|| format!("lock {}", path.display()))?;
    Ok(file)
}

fn run_script(search: &Search, missing: &[Engine]) -> anyhow::Result<()> {
    // Not over standard input: a package manager that asks a question would eat the script.
    let status = Command::new("bash")
        .args(["-c", SCRIPT, "install-engines"])
        .arg(search.private_folder())
        .args(missing.iter().map(|engine| engine.name()))
        .env("PATH", &search.path)
        .env("HOME", &search.home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .status()
        .context("run the installer: it needs bash")?;
    if !status.success() {
        bail!(
            "the installer exited with {status}; its last lines above say what to install by hand. \
             Then run this again, or set the addresses of engines you run yourself"
        );
    }
    Ok(())
}
