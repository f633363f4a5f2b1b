//! Which server a command talks to and as whom: options, variables, and what `login` saved.
//!
//! A key is for programs and a session for people. Where both are there, a command takes the key unless what it does is for
//! people: who has access, and approvals.

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use url::{Host, Url};

use crate::{
    api::{Api, Credential},
    exit,
    machine::variable,
    output::Form,
    saved::Saved,
};

/// Where `watchbell dev` serves.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:8080";
pub(crate) const KEY_VARIABLE: &str = "WATCHBELL_API_KEY";

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
    /// The server, with a key, or else as the person who is logged in.
    pub(crate) fn api(&self) -> anyhow::Result<Api> {
        self.address.api()
    }

    /// The server as the person who is logged in, for what no key may do.
    pub(crate) fn as_person(&self) -> anyhow::Result<Api> {
        self.address.as_person()
    }

    /// The server as the person who is logged in, or else with a key.
    pub(crate) fn as_person_or_key(&self) -> anyhow::Result<Api> {
        let known = self.address.known()?;
        if known.session.is_some() {
            known.person()
        } else {
            known.api()
        }
    }
}

impl Address {
    /// The server there, with a key, or else as the person who is logged in.
    pub(crate) fn api(&self) -> anyhow::Result<Api> {
        self.known()?.api()
    }

    /// The server there as the person who is logged in.
    pub(crate) fn as_person(&self) -> anyhow::Result<Api> {
        self.known()?.person()
    }

    /// The server there with whatever is there, and without anything if nothing is: some of it is for everybody.
    pub(crate) fn as_anybody(&self) -> anyhow::Result<Api> {
        let known = self.known()?;
        if known.key.is_none() && known.session.is_none() {
            return Api::new(known.url, None);
        }
        known.api()
    }

    fn known(&self) -> anyhow::Result<Known> {
        let key = variable(KEY_VARIABLE);
        let saved = match Saved::load() {
            // Who names the server and the key needs no file, such as a program without a home of its own.
            Err(_) if self.url.is_some() && key.is_some() => None,
            saved => saved?,
        };
        let url = match (&self.url, &saved) {
            (Some(url), _) => base_url(url)?,
            (None, Some(saved)) => base_url(&saved.url)?,
            (None, None) => base_url(DEFAULT_URL)?,
        };
        let saved = Saved::at(&url, saved);
        Ok(Known {
            url,
            key: key.or(saved.api_key),
            session: saved.session,
        })
    }
}

/// A server, and what may be shown to it.
struct Known {
    url: Url,
    key: Option<String>,
    session: Option<String>,
}

impl Known {
    fn api(self) -> anyhow::Result<Api> {
        let Self { url, key, session } = self;
        let credential = match (key, session) {
            (Some(key), _) => Credential::key(&key)?,
            (None, Some(session)) => Credential::session(&session)?,
            (None, None) => bail!(exit::not_allowed(format!(
                "there is no API key for {url}\n  What to do: Run `watchbell login`, or set {KEY_VARIABLE}."
            ))),
        };
        Api::new(url, Some(credential))
    }

    fn person(self) -> anyhow::Result<Api> {
        let Self { url, session, .. } = self;
        let session = session.with_context(|| {
            exit::not_allowed(format!("nobody is logged in to {url}, and an API key cannot do this\n  What to do: Run `watchbell login --email you@example.com`."))
        })?;
        Api::new(url, Some(Credential::session(&session)?))
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

/// Whether it is on this machine.
pub(crate) fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// A URL as people read it: without a password, or a key in its query.
pub(crate) fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    // Refused only by URLs that have no host, and so no user.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    if shown.query().is_some() {
        shown.set_query(Some("..."));
    }
    shown.into()
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
        let target = target_url("https://example.com/mcp?api_key=hush").expect("a URL");
        assert_eq!(shown(&target), "https://example.com/mcp?...");
    }
}
