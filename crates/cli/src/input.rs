//! What a command is given to read: a file, the standard input (`-`), or JSON in an argument.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, IsTerminal as _, Read as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::Value;

use crate::{exit::invalid, output::note};

/// The most that is read whole: a request's body is at most 5 MiB.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A file, or the standard input if it is `-` or not given.
pub(crate) fn open(file: Option<&Path>) -> anyhow::Result<Box<dyn BufRead>> {
    match file.filter(|file| *file != Path::new("-")) {
        None => {
            if io::stdin().is_terminal() {
                note("watchbell: reading standard input; press Ctrl-D to end");
            }
            Ok(Box::new(io::stdin().lock()))
        }
        Some(file) => {
            let opened =
                File::open(file).with_context(|| invalid(format!("open {}", file.display())))?;
            Ok(Box::new(BufReader::new(opened)))
        }
    }
}

/// What it is called in what people read.
pub(crate) fn name(file: Option<&Path>) -> String {
    match file.filter(|file| *file != Path::new("-")) {
        None => "standard input".to_owned(),
        Some(file) => file.display().to_string(),
    }
}

/// All bytes of a file or of the standard input.
pub(crate) fn bytes(file: Option<&Path>) -> anyhow::Result<Vec<u8>> {
    let name = name(file);
    let mut bytes = Vec::new();
    let read = open(file)?.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.with_context(|| invalid(format!("read {name}")))?;
    anyhow::ensure!(
        bytes.len() as u64 <= BYTES_MAX,
        invalid(format!("{name} is larger than 16 MiB"))
    );
    Ok(bytes)
}

/// The text of a file.
pub(crate) fn text(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| invalid(format!("read {}", file.display())))
}

/// The JSON in a file.
pub(crate) fn json(file: &Path) -> anyhow::Result<Value> {
    let bytes = bytes(Some(file))?;
    serde_json::from_slice(&bytes)
        .with_context(|| invalid(format!("{} is not valid JSON", file.display())))
}

/// JSON in an argument, or `@FILE` with it; for clap.
pub(crate) fn json_argument(text: &str) -> Result<Value, String> {
    let read = match text.strip_prefix('@') {
        Some(file) => json(&PathBuf::from(file)),
        None => serde_json::from_str(text).context("not valid JSON"),
    };
    read.map_err(|error| format!("{error:#}"))
}
