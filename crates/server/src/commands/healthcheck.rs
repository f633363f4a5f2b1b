//! `watchbell healthcheck`: asks a running server whether it is ready.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context as _, ensure};
use clap::Args;

use super::{WithConfig, say};

#[derive(Debug, Args)]
pub(super) struct Healthcheck {
    #[command(flatten)]
    with: WithConfig,
    /// Server URL; defaults to the configured `http.admin_listen`, or else `http.listen`.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

impl Healthcheck {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let base = match self.url {
            Some(url) => url,
            None => {
                let http = self.with.load()?.http;
                let address = http.admin_listen.unwrap_or(http.listen);
                format!("http://{}", reachable(address))
            }
        };
        let url = format!("{}/healthz/ready", base.trim_end_matches('/'));
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(3))
            .no_proxy()
            .build()?;
        let response = client
            .get(&url)
            .send()
            .await
            .with_context(|| format!("request {url}"))?;
        let (status, body) = (response.status(), response.text().await.unwrap_or_default());
        ensure!(status.is_success(), "not ready: {status} {body}");
        say(body);
        Ok(())
    }
}

/// A server that listens on every address is asked on loopback.
fn reachable(listen: SocketAddr) -> SocketAddr {
    if listen.ip().is_unspecified() {
        SocketAddr::from(([127, 0, 0, 1], listen.port()))
    } else {
        listen
    }
}
