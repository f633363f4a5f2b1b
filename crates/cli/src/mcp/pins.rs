//! The file in which somebody keeps the tools of a server as they were looked at.

use std::{
    collections::BTreeMap,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::catalog::Fingerprint;
use crate::{exit::invalid, input};

#[derive(Debug)]
pub(super) struct Pins {
    file: PathBuf,
    /// None until the server has listed them.
    tools: Option<BTreeMap<String, Fingerprint>>,
}

/// As it is written.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    server: String,
    tools: BTreeMap<String, Fingerprint>,
}

impl Pins {
    /// What a file says, or that there is none yet. One of another server is refused.
    pub(super) fn open(file: &Path, server: &str) -> anyhow::Result<Self> {
        let is_there = file.try_exists();
        let about = || invalid(format!("read {}", file.display()));
        let tools = is_there.with_context(about)?.then(|| read(file, server));
        Ok(Self {
            file: file.to_owned(),
            tools: tools.transpose()?,
        })
    }

    pub(super) fn tools(&self) -> Option<&BTreeMap<String, Fingerprint>> {
        self.tools.as_ref()
    }

    pub(super) fn know(&mut self, tools: BTreeMap<String, Fingerprint>) {
        self.tools = Some(tools);
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    #[cfg(test)]
    pub(super) fn unknown() -> Self {
        Self {
            file: PathBuf::new(),
            tools: None,
        }
    }
}

fn read(file: &Path, server: &str) -> anyhow::Result<BTreeMap<String, Fingerprint>> {
    let about = || invalid(format!("{} does not pin tools", file.display()));
    let written: Written = serde_json::from_value(input::json(file)?).with_context(about)?;
    ensure!(
        written.server == server,
        invalid(format!(
            "{} pins the tools of {}, not of {server}",
            file.display(),
            written.server
        ))
    );
    Ok(written.tools)
}

/// Writes what was listed first, whole or not at all; and says what is pinned from now on: what somebody else wrote meanwhile, if
/// somebody did.
pub(super) fn keep(
    file: &Path,
    server: &str,
    tools: BTreeMap<String, Fingerprint>,
) -> anyhow::Result<BTreeMap<String, Fingerprint>> {
    let about = || format!("write {}", file.display());
    let folder = file.parent().filter(|folder| folder.as_os_str() != "");
    let mut fresh = NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).with_context(about)?;
    let written = Written {
        server: server.to_owned(),
        tools,
    };
    let text = serde_json::to_string_pretty(&written)? + "\n";
    fresh.write_all(text.as_bytes()).with_context(about)?;
    fresh.as_file().sync_all().with_context(about)?;
    match fresh.persist_noclobber(file) {
        Ok(_) => Ok(written.tools),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => read(file, server),
        Err(error) => Err(error.error).with_context(about),
    }
}
