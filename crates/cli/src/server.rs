//! Which server a command talks to and as whom: options, variables, and the file that `login` writes.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
};

use anyhow::{Context as _, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    api::{Api, Key},
    exit,
    machine::variable,
    output::Form,
};

/// Where `watchbell dev` serves.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:8080";
const KEY_VARIABLE: &str = "WATCHBELL_API_KEY";

/// Where the server is.
#[derive(Debug, Args)]
pub(crate) struct Address {
    /// Server URL. Defaults to the one saved by `login`, else http://127.0.0.1:8080.
    #[arg(long, env = "WATCHBELL_URL", hide_env_values = true)]
    pub(crate) url: Option<String>,
}

/// What almost every command that talks to a server takes.
#[derive(Debug, Args)]
pub(crate) struct Server {
    #[command(flatten)]
    pub(crate) address: Address,
    /// Output format: a table for people, or JSON for programs.
    #[arg(long, short, value_enum, default_value_t)]
    pub(crate) output: Form,
}

impl Server {
    /// The server, with a key.
    pub(crate) fn api(&self) -> anyhow::Result<Api> {
        self.address.api()
    }
}

impl Address {
    /// The server there, with a key.
    pub(crate) fn api(&self) -> anyhow::Result<Api> {
        let saved = Login::load()?;
        let url = match (&self.url, &saved) {
            (Some(url), _) => base_url(url)?,
            (None, Some(saved)) => base_url(&saved.url)?,
            (None, None) => base_url(DEFAULT_URL)?,
        };
        // A key that was saved for one server is not shown to another.
        let saved = saved.filter(|saved| base_url(&saved.url).is_ok_and(|at| at == url));
        let key = variable(KEY_VARIABLE).or(saved.map(|saved| saved.api_key));
        let key = key.with_context(|| {
            exit::not_allowed(format!("there is no API key for {url}\n  What to do: Run `watchbell login`, or set {KEY_VARIABLE}."))
        })?;
        Api::new(url, &Key::parse(&key)?)
    }
}

/// A base URL, written one way.
pub(crate) fn base_url(text: &str) -> anyhow::Result<Url> {
    let url = http_url(text)?;
    ensure!(
        url.username().is_empty() && url.password().is_none(),
        exit::usage(
            "a server URL must not contain a user name or password; the API key identifies you"
        )
    );
    Ok(url)
}

/// Where a webhook is sent: as people write it, `localhost:3000/hook` too.
pub(crate) fn target_url(text: &str) -> anyhow::Result<Url> {
    if text.contains("://") {
        http_url(text)
    } else {
        http_url(&format!("http://{text}"))
    }
}

fn http_url(text: &str) -> anyhow::Result<Url> {
    // What is before an `@` may be a password.
    let shown = text.rsplit_once('@').map_or(text, |(_, after)| after);
    let url = Url::parse(text)
        .ok()
        .filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    url.with_context(|| {
        exit::usage(format!(
            "{shown} is not a server URL: write it out, such as https://watchbell.example.com"
        ))
    })
}

/// A URL as people read it: without a password.
pub(crate) fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    // Refused only by URLs that have no host, and so no user.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.into()
}

/// What `login` saves.
#[derive(Serialize, Deserialize)]
pub(crate) struct Login {
    pub(crate) url: String,
    pub(crate) api_key: String,
}

impl Login {
    /// `$XDG_CONFIG_HOME/watchbell/login.json`, or below `~/.config`.
    pub(crate) fn file() -> Option<PathBuf> {
        let folder = variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let folder = folder.filter(|folder| folder.is_absolute());
        let folder =
            folder.or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".config")))?;
        Some(folder.join("watchbell").join("login.json"))
    }

    fn load() -> anyhow::Result<Option<Self>> {
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
            .context("there is no home folder to save the key in; set HOME or XDG_CONFIG_HOME")?;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_never_shown() {
        let said = |text| format!("{:#}", base_url(text).expect_err("refused"));
        for wrong in [
            "http://ann:hush@example.com/",
            "http://ann:hush@example.com:99999",
            "ftp://ann:hush@example.com",
            "ann:hush@example.com",
        ] {
            assert!(!said(wrong).contains("hush"), "{}", said(wrong));
        }
        let target = target_url("ann:hush@localhost:3000/hook").expect("a URL");
        assert_eq!(target.password(), Some("hush"));
        assert_eq!(shown(&target), "http://localhost:3000/hook");
    }
}
