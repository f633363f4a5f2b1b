//! The server under measurement: the real binary, each role a process of its own.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use domain::{EventId, RuleId};
use reqwest::{Client, Response, header};
use serde_json::Value;
use testkit::{Own, Watchbell, eventually};

use crate::share::Share;

/// Loading and catching up take minutes at full size.
const DEADLINE: Duration = Duration::from_secs(3600);
/// A process that does not start in time never does.
const START: Duration = Duration::from_secs(60);

/// Signs every webhook, and the bare ones beside them.
pub(crate) const SECRET: &str = "whsec_dGhpcyBpcyBhIHNlY3JldCBmb3IgdGVzdHMgb25seSE=";

/// Seals what is kept sealed.
const SEALING_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// What every process is started with.
#[derive(Clone)]
pub(crate) struct Settings {
    binary: PathBuf,
    pub(crate) postgres: String,
    nats: String,
    /// Where files are kept, if they are.
    files: Option<String>,
}

/// A process that serves HTTP, at least its metrics.
pub(crate) struct Server {
    process: Watchbell,
    // Behind the process: it goes once that has ended.
    share: Option<Share>,
    url: String,
    client: Client,
}

/// An organization and its key to one server.
#[derive(Clone)]
pub(crate) struct Customer {
    client: Client,
    url: String,
    api_key: String,
}

impl Settings {
    /// With an empty database, brought up to date.
    pub(crate) fn prepare(binary: &Path, engines: &Own<testkit::Engines>) -> anyhow::Result<Self> {
        let binary = binary
            .canonicalize()
            .with_context(|| format!("{} is not built; see bench/README.md", binary.display()))?;
        let settings = Self {
            binary,
            postgres: engines.postgres.ensure_database("bench")?,
            nats: engines.nats.url(),
            files: None,
        };
        let mut migrating = settings.run(&["migrate"])?;
        ensure!(migrating.wait_until_ended(START).success(), "migrate");
        Ok(settings)
    }

    /// The same, with transparency logs in a folder.
    pub(crate) fn keeping_logs(&self, folder: &Path) -> Self {
        let files = Some(format!("file://{}", folder.display()));
        Self {
            files,
            ..self.clone()
        }
    }

    pub(crate) fn serve(&self, roles: &str) -> anyhow::Result<Server> {
        let mut process = self.run(&["serve", "--role", roles])?;
        Ok(Server {
            url: process.url(START),
            process,
            share: None,
            client: Client::builder().timeout(DEADLINE).no_proxy().build()?,
        })
    }

    /// Makes an organization that asks `server`.
    pub(crate) fn customer(&self, name: &str, server: &Server) -> anyhow::Result<Customer> {
        let email = format!("{name}@example.com");
        let mut founding = self.run(&["admin", "create-org", "--name", name, "--email", &email])?;
        let founded: Value =
            serde_json::from_str(&founding.wait_for_line(START, |line| line.contains("api_key")))?;
        Ok(Customer {
            client: server.client.clone(),
            url: server.url.clone(),
            api_key: founded["api_key"].as_str().context("a key")?.to_owned(),
        })
    }

    fn run(&self, arguments: &[&str]) -> anyhow::Result<Watchbell> {
        // Counted as ever, and never used up.
        const ENOUGH: &str = "100000/1ms";
        // A quick machine sends more than the gigabyte that an organization has in a minute.
        const ENOUGH_BYTES: &str = "1000000000000";
        let variables = [
            ("WATCHBELL__HTTP__LISTEN", "127.0.0.1:0"),
            ("WATCHBELL__POSTGRES__URL", &self.postgres),
            ("WATCHBELL__JOURNAL__URL", &self.nats),
            ("WATCHBELL__EVENTS__BYTES_PER_MINUTE_MAX", ENOUGH_BYTES),
            ("WATCHBELL__LIMITS__DECISIONS", ENOUGH),
            ("WATCHBELL__LIMITS__INGEST", ENOUGH),
            ("WATCHBELL__LIMITS__LIST", ENOUGH),
            ("WATCHBELL__LIMITS__STREAMS", ENOUGH),
            ("WATCHBELL__LIMITS__STATS", ENOUGH),
            ("WATCHBELL__LIMITS__EXPORT", ENOUGH),
            ("WATCHBELL__LIMITS__POLICY_WRITES", ENOUGH),
            ("WATCHBELL__LIMITS__RULE_TRIES", ENOUGH),
            ("WATCHBELL__LIMITS__RULE_WRITES", ENOUGH),
            ("WATCHBELL__LIMITS__READS", ENOUGH),
            ("WATCHBELL__LIMITS__WRITES", ENOUGH),
            ("WATCHBELL__LIMITS__PUBLIC", ENOUGH),
            // Receivers of a benchmark are on this machine.
            ("WATCHBELL__DELIVERY__ALLOW_HTTP", "true"),
            ("WATCHBELL__DELIVERY__ALLOW_CIDRS", "127.0.0.0/8"),
            // One receiver stands for all hosts, and what is measured is not how they are spared.
            ("WATCHBELL__DELIVERY__CONCURRENCY_PER_HOST", "1024"),
            ("WATCHBELL__DELIVERY__SIGNING_SECRET", SECRET),
        ];
        let files = self.files.as_deref();
        let kept = files.map(|url| {
            let sealed = ("WATCHBELL__SECRETS__KEY", SEALING_KEY);
            [("WATCHBELL__FILES__URL", url), sealed]
        });
        let kept = kept.into_iter().flatten();
        Watchbell::spawn(&self.binary, arguments, variables.into_iter().chain(kept))
    }
}

impl Server {
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Lets it use so much of the processor, and no more.
    pub(crate) fn hold_to(&mut self, cores: f64) -> anyhow::Result<()> {
        self.share = Some(Share::hold(self.pid(), cores)?);
        Ok(())
    }

    pub(crate) async fn ingested(&self) -> anyhow::Result<f64> {
        self.counter("watchbell_events_ingested_total").await
    }

    pub(crate) async fn matched(&self) -> anyhow::Result<f64> {
        self.counter("watchbell_deliveries_matched_total").await
    }

    /// Ends the process as an operator would.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        ensure!(self.process.terminate(START).success(), "it ends well");
        Ok(())
    }

    /// Ends the process as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    pub(crate) async fn indexed(&self) -> anyhow::Result<f64> {
        self.counter("watchbell_events_indexed_total").await
    }

    /// Waits until this process has indexed its first events, and says how many they are.
    pub(crate) async fn wait_until_some_are_indexed(&self) -> f64 {
        eventually(DEADLINE, "something is indexed", async || {
            self.indexed().await.ok().filter(|indexed| *indexed > 0.0)
        })
        .await
    }

    /// Waits until this process has indexed `events` in all, and says how long that took.
    pub(crate) async fn wait_until_indexed(&self, events: f64) -> Duration {
        let started = Instant::now();
        eventually(DEADLINE, "everything is indexed", async || {
            self.indexed().await.is_ok_and(|indexed| indexed >= events)
        })
        .await;
        started.elapsed()
    }

    async fn counter(&self, name: &str) -> anyhow::Result<f64> {
        let asking = self.client.get(format!("{}/metrics", self.url));
        let text = asking.send().await?.text().await?;
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next())
            .map_or(Ok(0.0), |value| Ok(value.parse()?))
    }
}

impl Customer {
    /// By which a client command finds the server.
    pub(crate) fn variables(&self) -> [(&str, &str); 2] {
        [
            ("WATCHBELL_URL", &self.url),
            ("WATCHBELL_API_KEY", &self.api_key),
        ]
    }

    /// Sends events, and returns the ids that they were given.
    pub(crate) async fn ingest_ids(&self, body: Bytes) -> anyhow::Result<Vec<EventId>> {
        let accepted = self.answer_to("/v1/audit/events", body, 202).await?;
        let events = accepted["events"].as_array().context("events")?;
        let ids = events
            .iter()
            .map(|event| event["id"].as_str()?.parse().ok());
        ids.collect::<Option<_>>().context("ids")
    }

    /// Makes a rule, and returns its id.
    pub(crate) async fn rule(&self, rule: &Value) -> anyhow::Result<RuleId> {
        let body = Bytes::from(rule.to_string());
        let made = self.answer_to("/v1/alert-rules", body, 201).await?;
        let id = made["id"].as_str().context("an id")?;
        Ok(id.parse()?)
    }

    async fn answer_to(&self, path: &str, body: Bytes, wanted: u16) -> anyhow::Result<Value> {
        let response = self.post(path, body).await?;
        let (status, text) = (response.status(), response.text().await?);
        ensure!(status == wanted, "{path}: {status}: {text}");
        Ok(serde_json::from_str(&text)?)
    }

    pub(crate) async fn ingest(&self, body: Bytes) -> anyhow::Result<()> {
        let response = self.post("/v1/audit/events", body).await?;
        let (status, text) = (response.status(), response.text().await?);
        ensure!(status == 202, "{status}: {text}");
        Ok(())
    }

    /// Writes policies; the version that they are.
    pub(crate) async fn write_policies(&self, text: &str) -> anyhow::Result<Value> {
        let body = Bytes::from(serde_json::json!({"policies": text}).to_string());
        let mut made = self.answer_to("/v1/policies/versions", body, 201).await?;
        Ok(made["version"].take())
    }

    /// Puts a version of the policies in force.
    pub(crate) async fn activate(&self, version: &Value) -> anyhow::Result<()> {
        let path = format!("/v1/policies/versions/{version}/activate");
        let body = Bytes::from_static(b"{}");
        self.answer_to(&path, body, 200).await.map(drop)
    }

    /// Asks for a decision.
    pub(crate) async fn decide(&self, question: String) -> anyhow::Result<Value> {
        let body = Bytes::from(question);
        self.answer_to("/v1/runtime/decisions", body, 200).await
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.text(path).await?)?)
    }

    pub(crate) async fn text(&self, path: &str) -> anyhow::Result<String> {
        let asking = self.client.get(format!("{}{path}", self.url));
        let response = asking.bearer_auth(&self.api_key).send().await?;
        let (status, text) = (response.status(), response.text().await?);
        ensure!(status == 200, "{path}: {status}: {text}");
        Ok(text)
    }

    /// Reads an export to its end; how many bytes it had, and its last ones.
    pub(crate) async fn export(&self, wanted: &Value) -> anyhow::Result<(u64, Bytes)> {
        let (mut bytes, mut last) = (0, Bytes::new());
        let reading = self.export_to(wanted, |chunk| {
            bytes += chunk.len() as u64;
            last = chunk.clone();
            Ok(())
        });
        reading.await?;
        Ok((bytes, last))
    }

    /// Reads an export to its end.
    pub(crate) async fn export_to(
        &self,
        wanted: &Value,
        mut read: impl FnMut(&Bytes) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        let body = Bytes::from(wanted.to_string());
        let mut response = self.post("/v1/audit/export", body).await?;
        ensure!(response.status() == 200, "export: {}", response.status());
        while let Some(chunk) = response.chunk().await? {
            read(&chunk)?;
        }
        Ok(())
    }

    /// The lines of an answer that is told line by line.
    pub(crate) async fn lines(&self, path: &str, body: &Value) -> anyhow::Result<Vec<Value>> {
        let response = self.post(path, Bytes::from(body.to_string())).await?;
        let (status, text) = (response.status(), response.text().await?);
        ensure!(status == 200, "{path}: {status}: {text}");
        let lines = text.lines().map(serde_json::from_str);
        Ok(lines.collect::<Result<_, _>>()?)
    }

    async fn post(&self, path: &str, body: Bytes) -> anyhow::Result<Response> {
        let asking = self.client.post(format!("{}{path}", self.url));
        let asking = asking
            .bearer_auth(&self.api_key)
            .header(header::CONTENT_TYPE, "application/json");
        Ok(asking.body(body).send().await?)
    }
}
