//! The file in which somebody keeps the tools of a server as they were looked at.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

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
        let mut tools = None;
        if file.exists() {
            let about = || invalid(format!("{} does not pin tools", file.display()));
            let written: Written =
                serde_json::from_value(input::json(file)?).with_context(about)?;
            ensure!(
                written.server == server,
                invalid(format!(
                    "{} pins the tools of {}, not of {server}",
                    file.display(),
                    written.server
                ))
            );
            tools = Some(written.tools);
        }
        Ok(Self {
            file: file.to_owned(),
            tools,
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

/// Writes what was listed first. A file that somebody else wrote meanwhile is left alone.
pub(super) fn write(
    file: &Path,
    server: &str,
    tools: BTreeMap<String, Fingerprint>,
) -> anyhow::Result<()> {
    let about = || format!("write {}", file.display());
    let written = Written {
        server: server.to_owned(),
        tools,
    };
    let text = serde_json::to_string_pretty(&written)? + "\n";
    let created = OpenOptions::new().write(true).create_new(true).open(file);
    let mut created = created.with_context(about)?;
    created.write_all(text.as_bytes()).with_context(about)
}
