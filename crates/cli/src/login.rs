//! `watchbell login` and `logout`: saves where the server is and what it knows you by, once it has said that it does.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    process::ExitCode,
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use console::Term;
use domain::error_code::ErrorCode;
use reqwest::{Response, header::SET_COOKIE};
use serde_json::json;
use url::Url;

use crate::{
    api::{Api, Credential},
    exit,
    output::{Form, note, say, say_json},
    problem::Problem,
    saved::Saved,
    server::{DEFAULT_URL, Server, base_url, is_here},
    table::plain,
};

/// How the server calls the session, with or without the prefix that binds a cookie to its host.
const SESSION_COOKIE: &str = "watchbell_session";

#[derive(Debug, Args)]
pub struct Login {
    /// Log in as a person, with a password instead of an API key: for API keys, signing secrets, members and approvals.
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// Send the key or password unencrypted, over http:// to another machine. Only for networks that nobody listens in on.
    #[arg(long)]
    insecure_http: bool,
    #[command(flatten)]
    server: Server,
}

impl Login {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let before = Saved::load();
        let url = match (self.server.address.url, &before) {
            (Some(url), _) => url,
            (None, Ok(Some(saved))) => ask_url(&saved.url)?,
            // No key goes to a server that nobody named.
            (None, Err(_)) if !io::stdin().is_terminal() => bail!(exit::usage(
                "the saved login cannot be read; say which server it is with --url"
            )),
            (None, _) => ask_url(DEFAULT_URL)?,
        };
        let url = base_url(&url)?;
        ensure!(
            is_private(&url) || self.insecure_http,
            exit::usage(format!(
                "{url} is not encrypted: others on the way could read what you log in with\n  What to do: Use https://. If you trust every network in between, pass --insecure-http."
            ))
        );
        // A file that cannot be read is replaced.
        let before = before.unwrap_or_default();
        let mut saved = Saved::at(&url, before.clone());
        match &self.email {
            Some(email) => saved.session = Some(session(&url, email).await?),
            None => saved.api_key = Some(key(&url).await?),
        }
        let file = saved.save()?;
        if let Some(before) = before.filter(|before| before.session != saved.session) {
            end_replaced(&before).await;
        }
        let (who, what) = match &self.email {
            Some(email) => (format!(" as {email}"), "session"),
            None => (String::new(), "key"),
        };
        match self.server.output {
            Form::Table => say(format_args!(
                "Logged in to {url}{who}. The {what} is saved in {}.",
                file.display()
            ))?,
            Form::Json => say_json(&json!({"url": url.as_str(), "file": file}))?,
        }
        Ok(exit::DONE)
    }
}

/// Whether nobody on the way to it can read along.
fn is_private(url: &Url) -> bool {
    url.scheme() == "https" || is_here(url)
}

/// Forgets what is saved. Nobody who logs out wants to find it here, whether the server can be reached or not.
pub(crate) async fn log_out() -> anyhow::Result<ExitCode> {
    let saved = Saved::load();
    // First, in case somebody does not wait for the server.
    Saved::forget()?;
    let saved = match saved {
        Ok(Some(saved)) => saved,
        Ok(None) => {
            say("You are not logged in.")?;
            return Ok(exit::DONE);
        }
        Err(_) => {
            say(
                "Deleted the saved login, which could not be read. A session in it stays valid until it expires.",
            )?;
            return Ok(exit::DONE);
        }
    };
    let ended = end(&saved).await;
    ended.context("the saved login is deleted, but the session did not end on the server")?;
    say(format_args!("Logged out of {}.", saved.url))?;
    Ok(exit::DONE)
}

/// Ends the person's session, if there is one. An API key stays valid until it is revoked.
async fn end(saved: &Saved) -> anyhow::Result<()> {
    if let Some(session) = &saved.session {
        let api = Api::new(base_url(&saved.url)?, Some(Credential::session(session)?))?;
        api.post("/v1/auth/logout").send().await?;
    }
    Ok(())
}

/// Ends a session that nobody can end once it is no longer saved. The new login is good, whatever becomes of this.
async fn end_replaced(before: &Saved) {
    if let Err(error) = end(before).await {
        note(format_args!(
            "watchbell: the session before, at {}, did not end on the server and stays valid until it expires: {error:#}",
            plain(&before.url)
        ));
    }
}

/// A key that the server knows.
async fn key(url: &Url) -> anyhow::Result<String> {
    let key = ask("API key")?.trim().to_owned();
    let api = Api::new(url.clone(), Some(Credential::key(&key)?))?;
    is_known(&api).await?;
    Ok(key)
}

/// Any answer but "who are you" will do: the key may have few scopes.
async fn is_known(api: &Api) -> anyhow::Result<()> {
    let asked = api
        .get("/v1/alert-rules")
        .query(&[("limit", "1".to_owned())])
        .send()
        .await;
    match asked {
        Err(error)
            if error
                .downcast_ref::<Problem>()
                .is_some_and(|problem| problem.is(ErrorCode::Forbidden)) =>
        {
            Ok(())
        }
        asked => asked.map(drop),
    }
}

/// A new session of this person's.
async fn session(url: &Url, email: &str) -> anyhow::Result<String> {
    let password = ask("password")?;
    let api = Api::new(url.clone(), None)?;
    let body = json!({"email": email, "password": password});
    let response = api.post("/v1/auth/login").json(&body).send().await?;
    cookie(&response).context("the server started no session")
}

/// The session that a response hands over, as later requests carry it.
pub(crate) fn cookie(response: &Response) -> Option<String> {
    let cookies = response.headers().get_all(SET_COOKIE).iter();
    let mut pairs = cookies.filter_map(|cookie| cookie.to_str().ok()?.split(';').next());
    let session = pairs.find(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or_default();
        name.trim_start_matches("__Host-") == SESSION_COOKIE && !value.is_empty()
    })?;
    Some(session.to_owned())
}

/// The server's address: this one, unless another is typed.
fn ask_url(known: &str) -> anyhow::Result<String> {
    if !io::stdin().is_terminal() {
        return Ok(known.to_owned());
    }
    let terminal = Term::stderr();
    terminal.write_str(&format!("Server [{}]: ", plain(known)))?;
    let typed = terminal.read_line().context("read the URL")?;
    let typed = typed.trim();
    Ok(if typed.is_empty() { known } else { typed }.to_owned())
}

/// Never from an argument: others on the machine can read those.
fn ask(what: &str) -> anyhow::Result<String> {
    let typed = if io::stdin().is_terminal() {
        let terminal = Term::stderr();
        let (first, rest) = what.split_at(1);
        terminal.write_str(&format!("{}{rest} (not shown): ", first.to_uppercase()))?;
        terminal.read_secure_line()
    } else {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|_| line)
    };
    let typed = typed.with_context(|| format!("read the {what}"))?;
    // A password may begin or end with spaces; no line end is part of one.
    let typed = typed.trim_end_matches(['\r', '\n']).to_owned();
    ensure!(
        !typed.is_empty(),
        exit::not_allowed(format!(
            "no {what} given: type it, or pipe it into standard input"
        ))
    );
    Ok(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_needs_no_encryption() {
        let is_private = |text| is_private(&base_url(text).expect("a URL"));
        for url in [
            "https://watchbell.example.com",
            "http://127.0.0.1:8080",
            "http://localhost:8080",
            "http://[::1]:8080",
        ] {
            assert!(is_private(url), "{url}");
        }
        for url in [
            "http://watchbell.example.com",
            "http://localhost.example.com",
            "http://10.0.0.5:8080",
            "http://0.0.0.0:8080",
            "http://[fe80::1]:8080",
        ] {
            assert!(!is_private(url), "{url}");
        }
    }
}
