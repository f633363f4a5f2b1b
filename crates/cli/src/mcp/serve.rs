//! `watchbell mcp serve`: clients connect to this command instead of the MCP server, over Streamable HTTP.

use std::{net::SocketAddr, process::ExitCode, sync::Arc};

use anyhow::Context as _;
use axum::Router;
use clap::Args;
use tokio::{net::TcpListener, select};
use url::Url;

use super::{guard::Guard, options::Options, recorder::Recorder, relay::Relay, wrap::session_id};
use crate::{
    connections, exit,
    output::note,
    server::{base_url, shown},
    stop::Stop,
};

#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    options: Options,
    /// The MCP server's endpoint. Clients use the same path here.
    #[arg(long, value_name = "URL")]
    upstream: String,
    /// Address to listen on; port 0 picks a free one. Whoever reaches it calls tools as the agent: keep it on this machine, or
    /// behind something that knows its clients.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8808")]
    listen: SocketAddr,
}

impl Serve {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let mut stop = Stop::listen()?;
        let upstream: Url = base_url(&self.upstream)?;
        let (recorder, recording) = Recorder::start(self.options.address.api()?);
        let guard = Guard::new(&self.options, recorder)?;
        let listener = TcpListener::bind(self.listen).await.with_context(|| {
            format!(
                "cannot listen on {}; choose another address with --listen",
                self.listen
            )
        })?;
        let address = listener.local_addr()?;
        let is_here = address.ip().is_loopback();
        let relay = Arc::new(Relay::new(guard, &upstream, session_id(), is_here)?);
        note(format_args!("watchbell: guarding {}", shown(&upstream)));
        note(format_args!(
            "watchbell: listening on http://{address}{}",
            upstream.path()
        ));
        let app = Router::new()
            .fallback(super::relay::relay)
            .with_state(Arc::clone(&relay));
        select! {
            () = connections::serve(listener, app) => {}
            () = stop.asked() => {}
        }
        relay.calls.close(|_| true);
        drop(relay);
        recording.finish().await;
        Ok(exit::DONE)
    }
}
