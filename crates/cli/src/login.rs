//! `watchbell login`: saves where the server is and an API key, once the server has said that it knows the key.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    process::ExitCode,
};

use anyhow::{Context as _, ensure};
use clap::Args;
use console::Term;
use domain::error_code::ErrorCode;
use serde_json::json;

use crate::{
    api::{Api, Key},
    exit,
    output::{Form, say, say_json},
    problem::Problem,
    server::{self, DEFAULT_URL, Server, base_url},
};

#[derive(Debug, Args)]
pub struct Login {
    #[command(flatten)]
    server: Server,
}

impl Login {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let url = match self.server.address.url {
            Some(url) => url,
            None => ask_url()?,
        };
        let url = base_url(&url)?;
        let api_key = ask_key()?;
        ensure!(
            !api_key.is_empty(),
            exit::not_allowed("no API key given: type it, or pipe it into standard input")
        );
        let api = Api::new(url.clone(), &Key::parse(&api_key)?)?;
        is_known(&api).await?;
        let login = server::Login {
            url: url.to_string(),
            api_key,
        };
        let file = login.save()?;
        match self.server.output {
            Form::Table => say(format_args!(
                "Logged in to {url}. The key is saved in {}.",
                file.display()
            ))?,
            Form::Json => say_json(&json!({"url": url.as_str(), "file": file}))?,
        }
        Ok(exit::DONE)
    }
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

fn ask_url() -> anyhow::Result<String> {
    if !io::stdin().is_terminal() {
        return Ok(DEFAULT_URL.to_owned());
    }
    let terminal = Term::stderr();
    terminal.write_str(&format!("Server [{DEFAULT_URL}]: "))?;
    let typed = terminal.read_line().context("read the URL")?;
    let typed = typed.trim();
    Ok(if typed.is_empty() { DEFAULT_URL } else { typed }.to_owned())
}

/// Never from an argument: others on the machine can read those.
fn ask_key() -> anyhow::Result<String> {
    let typed = if io::stdin().is_terminal() {
        let terminal = Term::stderr();
        terminal.write_str("API key (not shown): ")?;
        terminal.read_secure_line()
    } else {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map(|_| line)
    };
    Ok(typed.context("read the key")?.trim().to_owned())
}
