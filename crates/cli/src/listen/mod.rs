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
    /// Where to listen; 0 is any port that is free.
    #[arg(long, default_value_t = 4242)]
    port: u16,
    /// On which address; 0.0.0.0 is every one.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// Pass what is verified on to this URL, and answer what is answered there.
    #[arg(long, short, value_name = "URL")]
    forward_to: Option<String>,
    /// Make an alert rule with this `match` for as long as it listens; `{}` wants every event.
    #[arg(long = "match", value_name = "JSON|@FILE", value_parser = input::json_argument)]
    pattern: Option<Value>,
    /// How the server reaches this machine, if not by the address that it listens on. For the rule of --match.
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
                "watchbell: {} points here until this ends",
                rule.id()
            ));
        }
        if let Some(to) = &to {
            note(format_args!(
                "watchbell: what is verified goes on to {}",
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
