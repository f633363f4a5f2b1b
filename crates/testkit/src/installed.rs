//! Programs of others that tests run, installed by the project's own scripts.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// Installs something into a folder, by what bash is told. Tests are processes that may all find it missing; the script is quick
/// when it is there.
pub(crate) fn installed(what: &str, folder: PathBuf, script: &[&str]) -> anyhow::Result<PathBuf> {
    let lock = folder.with_extension("lock");
    if let Some(above) = lock.parent() {
        fs::create_dir_all(above).with_context(|| format!("create {}", above.display()))?;
    }
    let file = File::create(&lock).with_context(|| format!("create {}", lock.display()))?;
    file.lock().context("wait for another installer")?;
    let status = Command::new("bash")
        .args(script)
        .arg(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("install {what}: this needs bash"))?;
    ensure!(status.success(), "{what} could not be installed");
    Ok(folder)
}
