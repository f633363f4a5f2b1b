//! The password of private engines: made once, and kept in their folder for whoever may read that.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;

const RANDOM_BYTES: usize = 32;

/// The password of the engines in `folder`.
pub fn of(folder: &Path) -> anyhow::Result<String> {
    let path = folder.join("password");
    if !path.exists() {
        fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
        write_private(&path, &random()?)?;
    }
    let password = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    Ok(password.trim().to_owned())
}

/// Writes a file that only we can read, whole or not at all.
pub fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let unfinished = path.with_extension("unfinished");
    let written = || {
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&unfinished, path)
    };
    written().with_context(|| format!("write {}", path.display()))
}

/// Letters and digits, which need no quoting in a URL or a configuration.
fn random() -> anyhow::Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    let source = "/dev/urandom";
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .with_context(|| format!("read {source}"))?;
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a text takes anything");
    }
    Ok(text)
}
