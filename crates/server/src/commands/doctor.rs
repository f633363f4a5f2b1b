//! `watchbell doctor`: checks the settings and every dependency, and says what to do.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use journal::Journal;
use runtime::error_chain::chain;
use secrecy::ExposeSecret as _;
use store::Store;
use tokio::time::timeout;

use super::{WithConfig, durability, durability::Durability, say};
use crate::{
    config::Config,
    mail, node,
    system_clock::{self, AGREE_WITHIN},
    transparency::witnesses::SILENT_AFTER,
};

/// Scheduled messages came with this version.
const NATS_VERSION_MIN: (u32, u32) = (2, 12);
/// The least that the signing secret may have, so that nobody finds it by trying.
const SECRET_BYTES_MIN: usize = 24;
/// Stopped logs that are named, each with its reason.
const STOPPED_TOLD_MAX: u32 = 10;
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn run(with: &WithConfig) -> anyhow::Result<()> {
    let mut report = Report::default();
    let config = match with.load() {
        Ok(config) => config,
        Err(error) => {
            report.add(
                "configuration",
                Err(error),
                "See docs/reference/configuration.md.",
            );
            return report.finish();
        }
    };
    let from = match &with.config {
        Some(path) => format!("valid ({} and the environment)", path.display()),
        None => "valid (the environment and defaults; no --config given)".to_owned(),
    };
    report.add("configuration", Ok(from), "");
    report.add(
        "postgres",
        bounded(postgres(&config)).await,
        "Start PostgreSQL, or correct postgres.url; then run `watchbell migrate`.",
    );
    let journal = bounded(journal(&config)).await;
    let is_reachable = journal.is_ok();
    report.add(
        "journal",
        journal,
        "Start NATS 2.12 or later with JetStream, or correct journal.url.",
    );
    if is_reachable {
        report.add(
            "clock",
            bounded(clock(&config)).await,
            "Run NTP here and where NATS runs; receivers refuse webhooks signed more than 300 s off.",
        );
        report.add(
            "dead letters",
            bounded(dead_letters(&config)).await,
            "Run `watchbell dead-letters list`, fix what it reports, then run `watchbell dead-letters redrive --all`.",
        );
    }
    report.add("durability", bounded(durable(&config)).await, "Set `sync_interval: always` in the NATS server's jetstream block, and journal.monitor_url here.");
    if config.redis.url.is_some() {
        report.add(
            "redis",
            bounded(redis(&config)).await,
            "Start Redis or Valkey, or correct redis.url.",
        );
    }
    if config.mail.smtp_url.is_some() {
        report.add(
            "mail",
            bounded(mail(&config)).await,
            "Start the mail server, or correct mail.smtp_url.",
        );
    }
    if config.files.url.is_some() && config.secrets.key.is_some() {
        report.add(
            "logs",
            bounded(logs(&config)).await,
            "Put the files of the log back as they were, then run `watchbell admin resume-log`; docs/how-to/monitoring.md#watchbelllogstopped explains how.",
        );
    }
    if !config.transparency.witnesses.is_empty() {
        report.add(
            "witnesses",
            bounded(witnesses(&config)).await,
            "Ask whoever runs the witness; docs/how-to/run-a-witness.md explains each answer.",
        );
    }
    report.add(
        "signing",
        signing(&config),
        "Set delivery.signing_secret to `whsec_` followed by 32 random bytes in base64; receivers cannot verify unsigned webhooks.",
    );
    report.finish()
}

#[derive(Default)]
struct Report {
    failures: usize,
}

impl Report {
    fn add(&mut self, what: &str, outcome: anyhow::Result<String>, advice: &str) {
        match outcome {
            Ok(finding) => say(format_args!("ok    {what:<14} {finding}")),
            Err(error) => {
                self.failures += 1;
                say(format_args!("FAIL  {what:<14} {}", chain(error.as_ref())));
                say(format_args!("      {:<14} -> {advice}", ""));
            }
        }
    }

    fn finish(self) -> anyhow::Result<()> {
        ensure!(self.failures == 0, "{} of the checks failed", self.failures);
        Ok(())
    }
}

async fn bounded(check: impl Future<Output = anyhow::Result<String>>) -> anyhow::Result<String> {
    timeout(CHECK_TIMEOUT, check).await.context("timed out")?
}

async fn postgres(config: &Config) -> anyhow::Result<String> {
    let store = node::open_store(config)?;
    let (version, newest) = (
        store.schema_version().await?.unwrap_or(0),
        Store::newest_schema_version(),
    );
    ensure!(
        version >= newest,
        "reachable, but its schema is at version {version} of {newest}"
    );
    Ok(format!("reachable, schema version {version}"))
}

async fn journal(config: &Config) -> anyhow::Result<String> {
    let journal = Journal::connect(&node::journal_options(config)?).await?;
    let version = journal.server_version();
    let mut numbers = version
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let version_number = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    ensure!(
        version_number >= NATS_VERSION_MIN,
        "NATS {version} is too old for scheduled messages"
    );
    let streams = if journal.is_prepared().await? {
        "streams in place"
    } else {
        "no streams yet; `watchbell serve` creates them"
    };
    Ok(format!("NATS {version}, {streams}"))
}

async fn clock(config: &Config) -> anyhow::Result<String> {
    let journal = Journal::connect(&node::journal_options(config)?).await?;
    if !journal.is_prepared().await? {
        return Ok("not compared with NATS's, which has no streams yet".to_owned());
    }
    let reading = journal.read_clock().await?;
    let Some(ahead_ms) = system_clock::note(reading) else {
        return Ok("not compared with NATS's, which was too slow to say".to_owned());
    };
    let off = Duration::from_millis(ahead_ms.unsigned_abs());
    let which = if ahead_ms < 0 { "behind" } else { "ahead of" };
    ensure!(
        off < AGREE_WITHIN,
        "this machine's clock is {} s {which} NATS's",
        off.as_secs()
    );
    Ok("agrees with NATS's".to_owned())
}

async fn dead_letters(config: &Config) -> anyhow::Result<String> {
    let journal = Journal::connect(&node::journal_options(config)?).await?;
    let letters = if journal.is_prepared().await? {
        journal.count_dead_letters().await?
    } else {
        0
    };
    ensure!(
        letters == 0,
        "{letters} records could not be applied to the database and need attention"
    );
    Ok("none".to_owned())
}

async fn durable(config: &Config) -> anyhow::Result<String> {
    let url = config
        .journal
        .monitor_url
        .as_ref()
        .context("unknown: journal.monitor_url is not set")?;
    match durability::ask(url).await? {
        Durability::SyncsAlways => Ok("acknowledged events survive a power cut".to_owned()),
        Durability::SyncsLater => bail!("acknowledged events can be lost in a power cut"),
    }
}

async fn redis(config: &Config) -> anyhow::Result<String> {
    let url = config.redis.url.as_ref().context("not set")?;
    limits::ping(url.expose_secret()).await?;
    Ok("reachable".to_owned())
}

async fn mail(config: &Config) -> anyhow::Result<String> {
    let settings = mail::Settings::read(&config.mail)?.context("not set")?;
    settings.greet().await?;
    Ok("reachable".to_owned())
}

async fn logs(config: &Config) -> anyhow::Result<String> {
    let store = node::open_store(config)?;
    let stopped = store.stopped_transparency_logs(STOPPED_TOLD_MAX).await?;
    let texts: Vec<String> = stopped
        .into_iter()
        .map(|(org, why)| format!("the transparency log of {org} has stopped: {why}"))
        .collect();
    ensure!(texts.is_empty(), "{}", texts.join("; "));
    Ok("none has stopped".to_owned())
}

async fn witnesses(config: &Config) -> anyhow::Result<String> {
    let witnesses = &config.transparency.witnesses;
    let keys: Vec<String> = witnesses.iter().map(|one| one.key.to_string()).collect();
    let before = system_clock::SYSTEM.now().minus(SILENT_AFTER);
    let store = node::open_store(config)?;
    let silent = store.silent_witnesses(&keys, before).await?;
    let texts = silent.iter().map(|one| {
        let name = one.witness.split('+').next().unwrap_or_default();
        let (logs, since, problem) = (one.logs, one.since, &one.problem);
        format!(
            "{name} does not cosign ({problem}), {logs} of the logs wait, the first since {since}"
        )
    });
    let texts: Vec<String> = texts.collect();
    ensure!(texts.is_empty(), "{}", texts.join("; "));
    Ok(format!("{} set, none is silent", keys.len()))
}

fn signing(config: &Config) -> anyhow::Result<String> {
    let secret = config
        .delivery
        .signing_secret
        .as_ref()
        .context("webhooks are sent unsigned")?;
    ensure!(
        secret.expose_secret().len() >= SECRET_BYTES_MIN,
        "delivery.signing_secret is so short that anyone who has one organization's secret can guess it"
    );
    let said = match config.delivery.shared_signing_secret {
        None => "webhooks are signed, each organization's with its own secret",
        Some(_) => {
            "webhooks are signed with delivery.shared_signing_secret, which all organizations share"
        }
    };
    Ok(said.to_owned())
}
