//! `watchbell listen`: receives webhooks on this machine, verifies and shows them, and may pass them on.

pub(crate) mod forward;
mod rule;
mod show;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context as _;
use axum::{Router, routing::post};
use clap::Args;
use serde_json::Value;
use tokio::{net::TcpListener, sync::mpsc};
use url::Url;

use self::{forward::Forward, rule::TemporaryRule};
use crate::{
    exit, input,
    output::{Form, note},
    receiver::{Arrival, Receiver, receive},
    secret::Secret,
    server::{Server, shown, target_url},
    stop::Stop,
};

#[derive(Debug, Args)]
pub struct Listen {
    /// Port to listen on; 0 picks a free one.
    #[arg(long, default_value_t = 4242)]
    port: u16,
    /// Address to listen on; 0.0.0.0 means all of them.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// Forward verified deliveries to this URL, and return its response.
    #[arg(long, short, value_name = "URL")]
    forward_to: Option<String>,
    /// Create an alert rule with this `match` while listening; `{}` matches every event.
    #[arg(long = "match", value_name = "JSON|@FILE", value_parser = input::json_argument)]
    pattern: Option<Value>,
    /// URL at which the server reaches this machine, if not the listening address. Used by the rule of --match.
    #[arg(long, value_name = "URL", requires = "pattern")]
    public_url: Option<Url>,
    #[command(flatten)]
    secret: Secret,
    #[command(flatten)]
    server: Server,
}

impl Listen {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let mut stop = Stop::listen()?;
        let to = self.forward_to.as_deref().map(target_url).transpose()?;
        let forward = to.clone().map(Forward::new).transpose()?;
        let (receiver, arrivals) = Receiver::new(self.secret.read()?);
        let address = SocketAddr::new(self.bind, self.port);
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| {
            format!("cannot listen on {address}; choose another port with --port")
        })?;
        let here = format!("http://{}/", listener.local_addr()?);
        let rule = match &self.pattern {
            None => None,
            Some(pattern) => {
                let url = self.public_url.as_ref().map_or(&*here, Url::as_str);
                Some(TemporaryRule::make(self.server.api()?, pattern, url).await?)
            }
        };
        note(format_args!("watchbell: listening on {here}"));
        if let Some(rule) = &rule {
            note(format_args!(
                "watchbell: {} points here until you stop this command",
                rule.id()
            ));
        }
        if let Some(to) = &to {
            note(format_args!(
                "watchbell: forwarding verified webhooks to {}",
                shown(to)
            ));
        }
        let shown = tokio::select! {
            outcome = serve(listener, receiver.forwarding(forward)) => outcome,
            outcome = show_all(arrivals, self.server.output) => outcome,
            () = stop.asked() => Ok(()),
        };
        if let Some(rule) = rule {
            rule.delete().await?;
        }
        shown.map(|()| exit::DONE)
    }
}

/// Answers at every path.
async fn serve(listener: TcpListener, receiver: Receiver) -> anyhow::Result<()> {
    let app = Router::new()
        .fallback(post(receive))
        .with_state(Arc::new(receiver));
    axum::serve(listener, app).await.context("receive webhooks")
}

/// Shows what arrives, until nobody reads any more.
async fn show_all(mut arrivals: mpsc::Receiver<Arrival>, form: Form) -> anyhow::Result<()> {
    while let Some(arrival) = arrivals.recv().await {
        show::show(&arrival, form)?;
    }
    Ok(())
}
