//! The server under measurement: the real binary, one process for the API and one for the rest.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use reqwest::{Client, header};
use serde_json::Value;
use testkit::{Own, Watchbell, eventually};

use crate::{
    events,
    lanes::{self, Figures},
};

const DEADLINE: Duration = Duration::from_secs(120);

pub(crate) struct Server {
    client: Client,
    base_url: String,
    index_url: String,
    api_key: String,
    // Killed when dropped.
    api: Watchbell,
    _rest: Watchbell,
}

pub(crate) fn start(binary: &Path, engines: &Own<testkit::Engines>) -> anyhow::Result<Server> {
    let binary = binary
        .canonicalize()
        .with_context(|| format!("{} is not built; see bench/README.md", binary.display()))?;
    let database = engines.postgres.ensure_database("bench")?;
    let settings = Settings {
        binary,
        postgres: database,
        nats: engines.nats.url(),
    };
    ensure!(
        settings
            .run(&["migrate"])?
            .wait_until_ended(DEADLINE)
            .success(),
        "migrate"
    );
    let mut api = settings.run(&["serve", "--role", "api"])?;
    let mut rest = settings.run(&["serve", "--role", "index,match,deliver"])?;
    let mut founding = settings.run(&[
        "admin",
        "create-org",
        "--name",
        "Bench",
        "--email",
        "bench@example.com",
    ])?;
    let founded: Value =
        serde_json::from_str(&founding.wait_for_line(DEADLINE, |line| line.contains("api_key")))?;
    Ok(Server {
        client: Client::builder().timeout(DEADLINE).no_proxy().build()?,
        base_url: api.url(DEADLINE),
        index_url: rest.url(DEADLINE),
        api_key: founded["api_key"].as_str().context("a key")?.to_owned(),
        api,
        _rest: rest,
    })
}

struct Settings {
    binary: PathBuf,
    postgres: String,
    nats: String,
}

impl Settings {
    fn run(&self, arguments: &[&str]) -> anyhow::Result<Watchbell> {
        let variables = [
            ("WATCHBELL__HTTP__LISTEN", "127.0.0.1:0"),
            ("WATCHBELL__POSTGRES__URL", &self.postgres),
            ("WATCHBELL__JOURNAL__URL", &self.nats),
            // Counted as ever, and never used up.
            ("WATCHBELL__LIMITS__INGEST", "100000/1ms"),
        ];
        Watchbell::spawn(&self.binary, arguments, variables)
    }
}

impl Server {
    pub(crate) async fn ingest(
        &self,
        per_request: usize,
        lanes: usize,
        duration: Duration,
    ) -> anyhow::Result<Figures> {
        let body = bytes::Bytes::from(events::batch(per_request));
        let (client, api_key) = (self.client.clone(), self.api_key.clone());
        let url = format!("{}/v1/audit/events", self.base_url);
        lanes::run(lanes, duration, per_request, move || {
            let request = client
                .post(&url)
                .bearer_auth(&api_key)
                .header(header::CONTENT_TYPE, "application/json")
                .body(body.clone());
            async move {
                let response = request.send().await?;
                let (status, text) = (response.status(), response.text().await?);
                ensure!(status == 202, "{status}: {text}");
                Ok(())
            }
        })
        .await
    }

    /// The processor time that the API's process has used so far.
    pub(crate) fn cpu_time(&self) -> anyhow::Result<Duration> {
        /// What the kernel counts in, on every Linux that we build for (`getconf CLK_TCK`).
        const TICK: Duration = Duration::from_millis(10);
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.api.pid()))?;
        // The name in brackets may hold blanks; behind it, fields 14 and 15 are user and system time.
        let (_, fields) = stat.rsplit_once(')').context("a name")?;
        let ticks: u32 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|field| field.parse::<u32>().unwrap_or(0))
            .sum();
        Ok(TICK * ticks)
    }

    /// Waits until everything accepted is indexed; the rate at which that went, and how long it took.
    pub(crate) async fn drained(&self) -> anyhow::Result<(f64, Duration)> {
        let ingested = self
            .counter(&self.base_url, "watchbell_events_ingested_total")
            .await?;
        let (started, before) = (Instant::now(), self.indexed().await?);
        eventually(DEADLINE, "everything is indexed", async || {
            self.indexed()
                .await
                .is_ok_and(|indexed| indexed >= ingested)
        })
        .await;
        let took = started.elapsed();
        Ok(((ingested - before) / took.as_secs_f64(), took))
    }

    async fn indexed(&self) -> anyhow::Result<f64> {
        self.counter(&self.index_url, "watchbell_events_indexed_total")
            .await
    }

    async fn counter(&self, base_url: &str, name: &str) -> anyhow::Result<f64> {
        let text = self
            .client
            .get(format!("{base_url}/metrics"))
            .send()
            .await?
            .text()
            .await?;
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next())
            .map_or(Ok(0.0), |value| Ok(value.parse()?))
    }
}
