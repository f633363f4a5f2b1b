//! `watchbell api`: any request to the API, for what has no command of its own.

use std::{path::Path, process::ExitCode};

use clap::Args;
use reqwest::{
    Method, Response,
    header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderName, HeaderValue},
};

use crate::{
    api::{Api, Unreachable},
    exit, input, login,
    output::{Unsaid, say, write},
    problem::Problem,
    saved::Saved,
    server::Address,
};

const JSON: &str = "application/json";

#[derive(Debug, Args)]
pub struct Request {
    /// The HTTP method, such as GET or POST.
    #[arg(value_name = "METHOD", value_parser = method)]
    method: Method,
    /// The path with its parameters, such as '/v1/alert-rules?limit=10'.
    #[arg(value_name = "PATH", value_parser = path)]
    path: String,
    /// The body, which is JSON unless a header says otherwise; `-` is standard input.
    #[arg(long, short, value_name = "BODY|@FILE|-")]
    data: Option<String>,
    /// A header of the request, such as 'If-Match: "3"'; repeatable.
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Send it as the person who logged in with `login --email`, not with the API key.
    #[arg(long)]
    session: bool,
    #[command(flatten)]
    address: Address,
}

impl Request {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let api = if self.session {
            self.address.as_person()?
        } else {
            self.address.as_anybody()?
        };
        let mut call = api.call(self.method.clone(), &self.path).without_end();
        for (name, value) in &self.headers {
            call = call.header(name.clone(), value.clone());
        }
        if let Some(data) = &self.data {
            call = call.body(body(data)?);
            if !self.headers.iter().any(|(name, _)| name == CONTENT_TYPE) {
                call = call.header(CONTENT_TYPE, HeaderValue::from_static(JSON));
            }
        }
        match call.send().await {
            Ok(response) => {
                if self.session {
                    keep(&api, &response)?;
                }
                pass_on(&api, response).await
            }
            Err(error) => {
                // Why it was refused is an answer too, for programs; whether it is read changes nothing.
                if let Some(problem) = error.downcast_ref::<Problem>() {
                    let _ = pass_on_refusal(problem);
                }
                Err(error)
            }
        }
    }
}

/// A new password comes with a new session, and the saved one is over.
fn keep(api: &Api, response: &Response) -> anyhow::Result<()> {
    if let Some(session) = login::cookie(response) {
        let mut saved = Saved::at(api.base(), Saved::load()?);
        saved.session = Some(session);
        saved.save()?;
    }
    Ok(())
}

/// Writes the answer as it comes, since it may go on without end.
async fn pass_on(api: &Api, mut response: Response) -> anyhow::Result<ExitCode> {
    let kind = response.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(JSON.as_bytes()));
    let mut is_empty = true;
    while let Some(piece) = response
        .chunk()
        .await
        .map_err(|error| Unreachable::new(api.base(), &error))?
    {
        is_empty &= piece.is_empty();
        write(&piece)?;
    }
    // A document has no line end of its own; a file is not changed.
    if is_json && !is_empty {
        say("")?;
    }
    Ok(exit::DONE)
}

fn pass_on_refusal(problem: &Problem) -> Result<(), Unsaid> {
    if problem.text.is_empty() {
        Ok(())
    } else {
        say(&problem.text)
    }
}

/// What is sent: the text itself, a file, or the standard input.
fn body(data: &str) -> anyhow::Result<Vec<u8>> {
    match data.strip_prefix('@') {
        Some(file) => input::bytes(Some(Path::new(file))),
        None if data == "-" => input::bytes(None),
        None => Ok(data.as_bytes().to_vec()),
    }
}

fn method(text: &str) -> Result<Method, String> {
    let is_word = !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphabetic());
    let method = Method::from_bytes(text.to_uppercase().as_bytes()).ok();
    let expected = "expected a method such as GET, POST, PUT, PATCH or DELETE";
    method
        .filter(|_| is_word)
        .ok_or_else(|| expected.to_owned())
}

fn path(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err("expected a path such as /v1/alert-rules; --url says where the server is".to_owned())
    }
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = text.split_once(':').and_then(|(name, value)| {
        let name: HeaderName = name.trim().parse().ok()?;
        Some((name, value.trim().parse().ok()?))
    });
    let (name, value) = parsed.ok_or_else(|| "expected NAME: VALUE".to_owned())?;
    // Others on the machine can read arguments.
    if name == AUTHORIZATION || name == COOKIE {
        return Err(
            "keys are not passed as arguments; run `watchbell login`, or set WATCHBELL_API_KEY"
                .to_owned(),
        );
    }
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_say_what_is_expected() {
        assert_eq!(method("get"), Ok(Method::GET));
        assert!(method("/v1/me").is_err() && method("").is_err());
        assert_eq!(path("/v1/me?a=b"), Ok("/v1/me?a=b".to_owned()));
        assert!(path("https://example.com/v1/me").is_err());
        let (name, value) = header("If-Match: \"3\"").expect("a header");
        assert_eq!(
            (name.as_str(), value.as_bytes()),
            ("if-match", &b"\"3\""[..])
        );
        assert!(header("If-Match").is_err());
        assert!(header("authorization: Bearer x").is_err());
    }
}
