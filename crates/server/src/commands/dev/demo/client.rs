//! Asks the API as the demo's key, and as the demo's owner where only people may ask.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, ensure};
use reqwest::{Method, header};
use serde_json::{Value, json};

/// A machine that is busy with 100,000 events may take a while.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

pub(in crate::commands::dev) struct Client {
    http: reqwest::Client,
    base_url: String,
    api_key: String,
    /// The owner's session, as a browser sends it.
    cookie: String,
}

impl Client {
    /// Logs the owner in.
    pub(in crate::commands::dev) async fn log_in(
        api: SocketAddr,
        api_key: &str,
        email: &str,
        password: &str,
    ) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder()
            .timeout(ANSWER_TIMEOUT)
            .no_proxy()
            .build()?;
        let base_url = format!("http://{api}");
        let answer = http
            .post(format!("{base_url}/v1/auth/login"))
            .json(&json!({"email": email, "password": password}))
            .send()
            .await
            .context("log in")?
            .error_for_status()?;
        let cookie = answer.headers().get(header::SET_COOKIE);
        let cookie = cookie.and_then(|cookie| cookie.to_str().ok()?.split(';').next());
        Ok(Self {
            cookie: cookie.context("the login set no cookie")?.to_owned(),
            api_key: api_key.to_owned(),
            base_url,
            http,
        })
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.request(Method::POST, path).bearer_auth(&self.api_key);
        answered(request.json(body), path).await
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.request(Method::PATCH, path).bearer_auth(&self.api_key);
        answered(request.json(body), path).await
    }

    /// For what no API key may do.
    pub(super) async fn post_as_owner(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.request(Method::POST, path);
        let request = request.header(header::COOKIE, &self.cookie);
        answered(request.json(body), path).await
    }

    pub(in crate::commands::dev) async fn get_as_owner(&self, path: &str) -> anyhow::Result<Value> {
        let request = self.request(Method::GET, path);
        answered(request.header(header::COOKIE, &self.cookie), path).await
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base_url))
    }
}

async fn answered(request: reqwest::RequestBuilder, path: &str) -> anyhow::Result<Value> {
    let answer = request.send().await.context(path.to_owned())?;
    let status = answer.status();
    let text = answer.text().await.context(path.to_owned())?;
    ensure!(status.is_success(), "{path}: {status} {text}");
    // Some answers have no body.
    Ok(serde_json::from_str(&text).unwrap_or_default())
}
