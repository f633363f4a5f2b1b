//! Which promise the journal holds: whether what it acknowledged survives a power cut.

use std::time::Duration;

use anyhow::Context as _;

use crate::config::Config;

/// What the NATS server's own settings say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// Synced before it is acknowledged: a power cut loses nothing.
    SyncsAlways,
    /// Acknowledged first: a power cut loses what came after the last sync.
    SyncsLater,
}

/// Asks the server's monitoring address.
pub(super) async fn ask(monitor_url: &str) -> anyhow::Result<Durability> {
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(2))
        .no_proxy()
        .build()?;
    let url = format!("{}/varz", monitor_url.trim_end_matches('/'));
    let answer: serde_json::Value = client
        .get(&url)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .with_context(|| format!("request {url}"))?
        .json()
        .await
        .with_context(|| format!("read the response from {url}"))?;
    let always = answer["jetstream"]["config"]["sync_always"]
        .as_bool()
        .unwrap_or(false);
    Ok(if always {
        Durability::SyncsAlways
    } else {
        Durability::SyncsLater
    })
}

/// Says it in the log at every start.
pub(super) async fn report(config: &Config) {
    let Some(monitor_url) = &config.journal.monitor_url else {
        tracing::warn!(
            "unknown whether acknowledged events survive a power cut: set journal.monitor_url, and \
             make sure the NATS server has `sync_interval: always`"
        );
        return;
    };
    match ask(monitor_url).await {
        Ok(Durability::SyncsAlways) => tracing::info!("acknowledged events survive a power cut"),
        Ok(Durability::SyncsLater) => tracing::error!(
            "acknowledged events can be lost in a power cut: set `sync_interval: always` in the NATS server's jetstream block"
        ),
        Err(error) => tracing::warn!(
            error = format!("{error:#}"),
            "unknown whether acknowledged events survive a power cut"
        ),
    }
}
