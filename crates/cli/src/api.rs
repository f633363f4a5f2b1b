//! Calls to the API: one client with time limits, the key or session, and problems as people read them.
//!
//! A redirect is not followed, because the key would go along. A long job that is told to wait (429) waits, says so,
//! and goes on; and what may be sent again is sent again while the server, or what is between, cannot answer.

use std::{
    error::Error,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use anyhow::Context as _;
use reqwest::{
    Client, Method, RequestBuilder, Response, StatusCode,
    header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};
use serde::Serialize;
use serde_json::Value;
use tokio::time::sleep;
use url::Url;

use crate::{
    exit::not_allowed,
    output::note,
    problem::Problem,
    server::{is_here, shown},
};

pub(crate) const CONNECT_MAX: Duration = Duration::from_secs(10);
/// For an answer that comes at once. The server gives up after 30 s itself.
const ANSWER_MAX: Duration = Duration::from_secs(40);
/// Between two pieces of an answer that goes on: a quiet live tail says that it is alive every 15 s.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// How often a long job waits before it gives up; the limits are per minute, so that is long enough for others to end.
const WAITS_MAX: u32 = 20;
/// The longest that it waits at a time, whatever it is told.
const WAIT_MAX: Duration = Duration::from_secs(120);
/// How long it waits while the server cannot be reached or cannot answer, doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const PAUSES_MAX: u32 = 6;

/// What a caller is known by. It does not print itself.
pub(crate) struct Credential(HeaderName, HeaderValue);

impl Credential {
    pub(crate) fn key(text: &str) -> anyhow::Result<Self> {
        let header = HeaderValue::from_str(&format!("Bearer {}", text.trim()));
        let header = header.ok().context(not_allowed(
            "the API key contains characters that are not allowed in one",
        ))?;
        Ok(Self::hidden(AUTHORIZATION, header))
    }

    /// A person's session, as the server handed it over. A program has no page of another site in it, so the cookie is all
    /// that is asked for; beside a key it would not count.
    pub(crate) fn session(cookie: &str) -> anyhow::Result<Self> {
        let header = HeaderValue::from_str(cookie).ok();
        let header = header.context(not_allowed(
            "the saved session cannot be read; run `watchbell login --email` again",
        ))?;
        Ok(Self::hidden(COOKIE, header))
    }

    fn hidden(name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        Self(name, value)
    }
}

/// A server and who asks it.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    http: Client,
    base: Url,
    /// Whether it has answered yet: one that never did is rather misspelled than away for a moment.
    has_answered: Arc<AtomicBool>,
}

impl Api {
    /// Nobody in particular asks where there is no credential.
    pub(crate) fn new(base: Url, credential: Option<Credential>) -> anyhow::Result<Self> {
        let headers = credential.map(|Credential(name, value)| (name, value));
        let headers = HeaderMap::from_iter(headers);
        let http = client(&base).default_headers(headers).build()?;
        Ok(Self {
            http,
            base,
            has_answered: Arc::default(),
        })
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    pub(crate) fn get(&self, path: &str) -> Call {
        self.call(Method::GET, path)
    }

    pub(crate) fn post(&self, path: &str) -> Call {
        self.call(Method::POST, path)
    }

    pub(crate) fn delete(&self, path: &str) -> Call {
        self.call(Method::DELETE, path)
    }

    pub(crate) fn call(&self, method: Method, path: &str) -> Call {
        let url = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        Call {
            request: self.http.request(method, url).timeout(ANSWER_MAX),
            server: self.clone(),
            patience: Patience::None,
        }
    }
}

/// A client for calls to this address. Proxies of the environment are for what is not on this machine.
pub(crate) fn client(url: &Url) -> reqwest::ClientBuilder {
    let builder = Client::builder()
        .user_agent(concat!("watchbell-cli/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_MAX)
        .read_timeout(SILENCE_MAX);
    if is_here(url) {
        builder.no_proxy()
    } else {
        builder
    }
}

/// What a call does when it is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    /// Says so.
    None,
    /// Waits as it is told, then asks again.
    Waits,
    /// Also asks again when it was not answered: asking twice does no harm.
    Repeats,
}

/// A call that is being put together.
pub(crate) struct Call {
    request: RequestBuilder,
    server: Api,
    patience: Patience,
}

impl Call {
    pub(crate) fn query(mut self, parameters: &[(&str, String)]) -> Self {
        self.request = self.request.query(parameters);
        self
    }

    pub(crate) fn json(mut self, body: &impl Serialize) -> Self {
        self.request = self.request.json(body);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<reqwest::Body>) -> Self {
        self.request = self.request.body(body);
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    /// Names the request, so that it may be sent again.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.request = self.request.header("idempotency-key", name);
        self
    }

    /// A part of a long job: it waits when it is told to.
    pub(crate) fn waiting(mut self) -> Self {
        self.patience = Patience::Waits;
        self
    }

    /// A part of a long job that may be asked twice.
    pub(crate) fn repeating(mut self) -> Self {
        self.patience = Patience::Repeats;
        self
    }

    /// An answer that may go on for as long as it is not silent.
    pub(crate) fn without_end(mut self) -> Self {
        self.request = self.request.timeout(Duration::MAX);
        self
    }

    /// The answer's JSON as text, unchanged.
    pub(crate) async fn text(self) -> anyhow::Result<String> {
        self.answered(Response::text).await
    }

    pub(crate) async fn value(self) -> anyhow::Result<Value> {
        read(&self.text().await?)
    }

    /// A successful answer, or why there is none.
    pub(crate) async fn send(self) -> anyhow::Result<Response> {
        self.answered(async |response| Ok(response)).await
    }

    /// What is read of a successful answer, or why there is none. One that cannot be read to its end is none.
    async fn answered<T>(
        self,
        read: impl AsyncFn(Response) -> reqwest::Result<T>,
    ) -> anyhow::Result<T> {
        let (mut waits, mut pauses) = (0, 0);
        loop {
            let request = self.request.try_clone();
            let request = request.context("the request body cannot be sent again")?;
            let unreachable = |error| Unreachable::new(&self.server.base, &error);
            let (trouble, told) = match request.send().await {
                Ok(response) if response.status().is_success() => {
                    self.server.has_answered.store(true, Relaxed);
                    match read(response).await {
                        Ok(answer) => return Ok(answer),
                        Err(error) => (Trouble::NoAnswer(unreachable(error)), None),
                    }
                }
                Ok(response) => {
                    let told = self.wait(&response);
                    let problem = Problem::read(response).await;
                    let is_from_it = !problem.is_away();
                    self.server.has_answered.fetch_or(is_from_it, Relaxed);
                    (Trouble::Problem(problem), told)
                }
                Err(error) => (Trouble::NoAnswer(unreachable(error)), None),
            };
            let wait = match told {
                Some(wait) if waits < WAITS_MAX => {
                    waits += 1;
                    note(format_args!(
                        "watchbell: {}; continuing in {} s",
                        trouble.in_short(),
                        wait.as_secs()
                    ));
                    wait
                }
                None if trouble.may_pass() && self.repeats() && pauses < PAUSES_MAX => {
                    let pause = FIRST_PAUSE * 2_u32.pow(pauses);
                    pauses += 1;
                    note(format_args!(
                        "watchbell: {}; retrying in {} s",
                        trouble.in_short(),
                        pause.as_secs_f32()
                    ));
                    pause
                }
                _ => return Err(trouble.into()),
            };
            sleep(wait).await;
        }
    }

    /// Whether it is asked again when there was no answer.
    fn repeats(&self) -> bool {
        self.patience == Patience::Repeats && self.server.has_answered.load(Relaxed)
    }

    /// How long to wait before the call is made again, if it is.
    fn wait(&self, response: &Response) -> Option<Duration> {
        let is_told = match response.status() {
            StatusCode::TOO_MANY_REQUESTS => self.patience != Patience::None,
            StatusCode::SERVICE_UNAVAILABLE => self.patience == Patience::Repeats,
            _ => false,
        };
        let seconds = response
            .headers()
            .get(RETRY_AFTER)?
            .to_str()
            .ok()?
            .parse()
            .ok()?;
        is_told.then(|| Duration::from_secs(seconds).min(WAIT_MAX))
    }
}

/// Why a call has no successful answer.
enum Trouble {
    Problem(Problem),
    NoAnswer(Unreachable),
}

impl Trouble {
    /// Whether it may be otherwise in a moment, although nobody said when.
    fn may_pass(&self) -> bool {
        match self {
            Self::Problem(problem) => problem.is_away(),
            Self::NoAnswer(_) => true,
        }
    }

    fn in_short(&self) -> String {
        match self {
            Self::Problem(problem) => format!("the server answered {}", problem.status),
            Self::NoAnswer(unreachable) => unreachable.in_short(),
        }
    }
}

impl From<Trouble> for anyhow::Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Problem(problem) => problem.into(),
            Trouble::NoAnswer(unreachable) => unreachable.into(),
        }
    }
}

/// JSON of an answer.
pub(crate) fn read<T: serde::de::DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    serde_json::from_str(text)
        .context("cannot read the server's response; is it a Watchbell server?")
}

/// There was no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) struct Unreachable {
    server: String,
    cause: String,
    is_refused: bool,
}

impl Unreachable {
    pub(crate) fn new(server: &Url, error: &reqwest::Error) -> Self {
        let mut cause: &dyn Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let told = if error.is_timeout() {
            "timed out".to_owned()
        } else {
            cause.to_string()
        };
        Self {
            server: shown(server).trim_end_matches('/').to_owned(),
            cause: told,
            is_refused: error.is_connect(),
        }
    }
}

impl Unreachable {
    /// For what is no server of ours.
    pub(crate) fn without_advice(self) -> Self {
        Self {
            is_refused: false,
            ..self
        }
    }

    /// On one line.
    pub(crate) fn in_short(&self) -> String {
        format!("cannot reach {}: {}", self.server, self.cause)
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_short())?;
        if self.is_refused {
            f.write_str("\n  What to do: Check --url or WATCHBELL_URL, and that the server is running. `watchbell dev` starts one.")?;
        }
        Ok(())
    }
}
