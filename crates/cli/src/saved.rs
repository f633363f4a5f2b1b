//! The file that `login` writes: a server, and what its owner is known by there.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{machine::variable, server::base_url};

/// A server, and an API key, a person's session, or both.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) api_key: Option<String>,
    /// As a `Cookie` header carries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
}

impl Saved {
    /// What of this is for the server at this address; nothing yet, if it is for another one.
    pub(crate) fn at(url: &Url, saved: Option<Self>) -> Self {
        // A key that was saved for one server is not shown to another.
        let saved = saved.filter(|saved| base_url(&saved.url).is_ok_and(|at| at == *url));
        saved.unwrap_or_else(|| Self {
            url: url.to_string(),
            api_key: None,
            session: None,
        })
    }

    /// `$XDG_CONFIG_HOME/watchbell/login.json`, or below `~/.config`.
    fn file() -> Option<PathBuf> {
        let folder = variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let folder = folder.filter(|folder| folder.is_absolute());
        let folder =
            folder.or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".config")))?;
        Some(folder.join("watchbell").join("login.json"))
    }

    /// What is saved, if something is. A file that cannot be read is no reason to ask another server, or as nobody.
    pub(crate) fn load() -> anyhow::Result<Option<Self>> {
        match Self::file() {
            Some(file) => Self::load_from(&file),
            None => Ok(None),
        }
    }

    fn load_from(file: &Path) -> anyhow::Result<Option<Self>> {
        let about = || {
            format!(
                "cannot read {}; run `watchbell login` again",
                file.display()
            )
        };
        let text = match fs::read_to_string(file) {
            Err(error) if is_missing(&error) => return Ok(None),
            read => read.with_context(about)?,
        };
        let saved: Self = serde_json::from_str(&text).with_context(about)?;
        base_url(&saved.url).with_context(about)?;
        Ok(Some(saved))
    }

    /// For the owner's eyes only, and whole or not at all.
    pub(crate) fn save(&self) -> anyhow::Result<PathBuf> {
        let file = Self::file()
            .context("there is no home folder to save the login in; set HOME or XDG_CONFIG_HOME")?;
        self.save_to(&file)?;
        Ok(file)
    }

    fn save_to(&self, file: &Path) -> anyhow::Result<()> {
        let about = || format!("save {}", file.display());
        let folder = file.parent().context("the file has no parent folder")?;
        fs::create_dir_all(folder).with_context(about)?;
        let fresh = file.with_extension("json.new");
        // One that is there already may be open to others, or a link to somewhere else.
        remove(&fresh)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut written = options.open(&fresh).with_context(about)?;
        written
            .write_all(&serde_json::to_vec_pretty(self)?)
            .and_then(|()| written.sync_all())
            .with_context(about)?;
        fs::rename(&fresh, file).with_context(about)
    }

    /// Deletes the file, if there is one.
    pub(crate) fn forget() -> anyhow::Result<()> {
        Self::file().map_or(Ok(()), |file| remove(&file))
    }
}

fn remove(file: &Path) -> anyhow::Result<()> {
    match fs::remove_file(file) {
        Err(error) if !is_missing(&error) => {
            Err(error).with_context(|| format!("delete {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// Whether there is no such file. A home such as `/dev/null` is no folder.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_login_is_never_written_into_what_is_there_already() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("login.json");
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "theirs").expect("written");
        symlink(&elsewhere, folder.path().join("login.json.new")).expect("a link");
        let url = base_url("http://127.0.0.1:8080").expect("a URL");
        Saved::at(&url, None).save_to(&file).expect("saved");
        let text = |file| fs::read_to_string(file).expect("a file");
        assert_eq!(text(&elsewhere), "theirs");
        assert!(text(&file).contains(url.as_str()));
        let about = fs::symlink_metadata(&file).expect("a file");
        assert!(about.is_file());
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn only_a_file_that_is_missing_is_nothing_saved() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("login.json");
        let load = || Saved::load_from(&file);
        assert!(load().expect("nothing").is_none());
        for damaged in ["", "{", r#"{"url": "nowhere"}"#] {
            fs::write(&file, damaged).expect("written");
            let error = load().err().expect("refused");
            assert!(
                format!("{error:#}").contains("watchbell login"),
                "{error:#}"
            );
        }
        fs::write(&file, r#"{"url": "http://127.0.0.1:8080"}"#).expect("written");
        assert!(load().expect("a login").is_some());
        let below = file.join("login.json");
        assert!(Saved::load_from(&below).expect("nothing").is_none());
        // There, and still not to be read.
        assert!(Saved::load_from(folder.path()).is_err());
    }
}
