//! The file that `login` writes: a server, and what its owner is known by there.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{machine::variable, server::base_url};

/// A server, and an API key, a person's session, or both.
#[derive(Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) api_key: Option<String>,
    /// As a `Cookie` header carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
}

impl Saved {
    /// What is saved for this server; nothing yet, if it is for another one.
    pub(crate) fn at(url: &Url) -> anyhow::Result<Self> {
        // A key that was saved for one server is not shown to another.
        let saved = Self::load()?.filter(|saved| base_url(&saved.url).is_ok_and(|at| at == *url));
        Ok(saved.unwrap_or(Self {
            url: url.to_string(),
            api_key: None,
            session: None,
        }))
    }

    /// `$XDG_CONFIG_HOME/watchbell/login.json`, or below `~/.config`.
    fn file() -> Option<PathBuf> {
        let folder = variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let folder = folder.filter(|folder| folder.is_absolute());
        let folder =
            folder.or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".config")))?;
        Some(folder.join("watchbell").join("login.json"))
    }

    pub(crate) fn load() -> anyhow::Result<Option<Self>> {
        let Some(file) = Self::file() else {
            return Ok(None);
        };
        let Ok(text) = fs::read_to_string(&file) else {
            return Ok(None);
        };
        let about = || {
            format!(
                "cannot read {}; run `watchbell login` again",
                file.display()
            )
        };
        serde_json::from_str(&text).with_context(about).map(Some)
    }

    /// For the owner's eyes only, and whole or not at all.
    pub(crate) fn save(&self) -> anyhow::Result<PathBuf> {
        let file = Self::file()
            .context("there is no home folder to save the login in; set HOME or XDG_CONFIG_HOME")?;
        let about = || format!("save {}", file.display());
        let folder = file.parent().context("the file has no parent folder")?;
        fs::create_dir_all(folder).with_context(about)?;
        let fresh = file.with_extension("json.new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut written = options.open(&fresh).with_context(about)?;
        written
            .write_all(&serde_json::to_vec_pretty(self)?)
            .and_then(|()| written.sync_all())
            .with_context(about)?;
        fs::rename(&fresh, &file).with_context(about)?;
        Ok(file)
    }

    /// Deletes the file, if there is one.
    pub(crate) fn forget() -> anyhow::Result<()> {
        let Some(file) = Self::file() else {
            return Ok(());
        };
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("delete {}", file.display()))
            }
            _ => Ok(()),
        }
    }
}
